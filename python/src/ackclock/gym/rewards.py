"""Rewards of the literature. Each is a function of an `Interval`.

A reward of your own is a function as well: it takes an `Interval`, whose attributes are numbers or
arrays, and returns a number or an array of the same shape. Functions of numpy serve both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .interval import Interval, Numbers

Reward: TypeAlias = Callable[[Interval], Numbers]


def power(interval: Interval) -> Numbers:
    """Return power: throughput over delay, as shares of what the link and the empty path have.

    ``(throughput / link rate) / (mean RTT / base RTT)``, without unit. On a link of constant rate a
    full link with an empty queue has 1. A link that is faster at times has more.

    Power is due to L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems
    in computer communications", ICC 1979, which was not read here. The division by the properties
    of the path makes networks comparable. It uses what the simulator knows; `orca` uses the RTT
    that a sender knows.
    """
    share = interval.throughput / np.maximum(interval.link_rate, 1.0)
    return share * interval.base_rtt / interval.mean_rtt


def orca(interval: Interval, *, loss_factor: float = 5.0, margin: float = 1.25) -> Numbers:
    """Return power with losses subtracted and a margin for the delay.

    ``(throughput - 5 x loss rate) / link rate x min(1, 1.25 x min RTT / mean RTT)``, without unit;
    the loss rate is that of lost bytes. Source: S. Abbasloo, C.-Y. Yen and H. J. Chao, "Classic
    Meets Modern: a Pragmatic Learning-Based Congestion Control for the Internet", SIGCOMM 2020, and
    the function ``get_state`` of the authors' ``envwrapper.py``. There the divisor is the largest
    throughput so far, which rewards an agent that never tries more.

    Args:
        interval: the interval.
        loss_factor: weight of the lost bit/s.
        margin: multiple of the smallest RTT up to which the delay is free.
    """
    lost = 8.0 * interval.lost / interval.duration
    share = (interval.throughput - loss_factor * lost) / np.maximum(interval.link_rate, 1.0)
    return share * np.minimum(1.0, margin * interval.min_rtt / interval.mean_rtt)


def aurora(interval: Interval) -> Numbers:
    """Return Aurora's reward: ``10 throughput - 1000 latency - 2000 loss``.

    Throughput is packets of 1500 bytes per second, latency the mean RTT in seconds, loss a share.
    Source: N. Jay, N. Rotman, B. Godfrey, M. Schapira and A. Tamar, "A Deep Reinforcement Learning
    Perspective on Internet Congestion Control", ICML 2019. The authors' simulator multiplies it by
    0.001 (``network_sim.py``), which changes no order and is left out here.
    """
    packets = interval.throughput / (8.0 * 1500.0)
    return 10.0 * packets - 1000.0 * interval.mean_rtt - 2000.0 * interval.loss


def vivace(
    interval: Interval, *, exponent: float = 0.9, gradient: float = 900.0, loss: float = 11.35
) -> Numbers:
    """Return the utility of PCC Vivace: ``x^0.9 - 900 x dRTT/dt - 11.35 x L``.

    The sending rate ``x`` is Mbit/s, the RTT gradient seconds per second, and ``L`` the share of
    losses. A falling RTT counts in favour, as in the paper's formula. Source: M. Dong et al., "PCC
    Vivace: Online-Learning Congestion Control", NSDI 2018, section 4. The constants were compared
    with public implementations, not with the paper.

    Args:
        interval: the interval.
        exponent: exponent of the rate, above 0 and below 1.
        gradient: weight of the RTT gradient.
        loss: weight of the losses.
    """
    rate = 1e-6 * interval.sending_rate
    penalty = gradient * interval.rtt_gradient + loss * interval.loss
    return rate**exponent - rate * penalty


def mvfst(
    interval: Interval, *, throughput: float = 1.0, delay: float = 100.0, loss: float = 2.0
) -> Numbers:
    """Return mvfst-rl's reward: ``a ln(1 + T) - b ln(1 + D) - c ln(1 + L)``.

    ``T`` is the throughput in byte/s, ``D`` the queueing delay in seconds (mean RTT less the
    smallest), ``L`` the bytes lost in the interval. Source: V. Sivakumar et al., "MVFST-RL: An
    Asynchronous RL Framework for Congestion Control with Delayed Actions", NeurIPS 2019 workshop on
    ML for Systems; formula and weights are those of ``computeReward`` in the authors' repository
    (commit 0952513d). The authors take the largest delay of the interval by default.

    Args:
        interval: the interval.
        throughput: weight ``a``.
        delay: weight ``b``.
        loss: weight ``c``.
    """
    queueing = np.maximum(interval.mean_rtt - interval.min_rtt, 0.0)
    gain = throughput * np.log(1.0 + interval.throughput / 8.0)
    return gain - delay * np.log(1.0 + queueing) - loss * np.log(1.0 + interval.lost)
