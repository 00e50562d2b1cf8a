#!/usr/bin/env python3
"""Vectors of SCReAMv2: draft-ietf-ccwg-rfc8298bis-screamv2, editors' copy d30e8b8a (August 2026).

Prints what the tests of src/algorithms/media/scream_v2 state. Windows are in bytes, times in
seconds, MSS is 1000. Independent of the code under test.
"""
from statistics import fmean, pvariance

MSS, VIRTUAL_RTT, TARGET = 1000.0, 0.025, 0.06

# Section 4.2.1.3: shares of marks, one per update.
alpha, rows = 0.0, []
for share in (1.0, 1.0, 0.5, 0.0, 0.0, 0.1, 0.3, 0.0):
    alpha = share / 8 + alpha * 7 / 8 if share >= alpha else alpha * 127 / 128
    rows.append(round(alpha, 5))
print("l4s_alpha:", rows)

# Section 4.2.1.4: queue delays in ms, one packet per update.
avg, high, low, dev, rows = 0.0, 60.0, 0.0, 0.0, []
for q in (0, 10, 50, 80, 20, 20, 0, 5, 30, 30, 30, 30):
    high, low = min(60, max(q, high)), min(q, low)
    avg = q if q < avg else q / 4 + avg * 3 / 4
    high *= 15 / 16
    low = low * 15 / 16 + high / 16
    dev = dev * 31 / 32 + (high - low) / 32
    rows.append((round(avg, 4), round(max(0, min(1, 1 - dev / 10)), 4)))
print("qdelay_avg in ms, ref_wnd_delay_scale:", rows)

# Sections 4.2.2.1 and 4.2.2.2: an update every 10 ms. In each, 8000 bytes are acknowledged. The
# flight is 1.2 windows. Events: loss, marked bytes, queue delay in ms.
EVENTS = {20: "loss", 21: "loss", 40: 4000, 41: 4000, 42: 8000, 60: 1000, 90: 40.0, 91: 40.0, 92: 70.0,
          120: "loss", 150: 2000}


def windows(l4s, srtt):
    """Returns the window after every tenth update and in those with an event."""
    wnd, wnd_i, allowed = 30_000.0, 1.0, True
    congested, reacted = -1e9, -1e9
    lost = marked = False
    alpha, scale, rows = 0.2, 0.8, []
    for step in range(200):
        now, event = step * 0.01, EVENTS.get(step)
        q = event / 1000 if isinstance(event, float) else 0.001
        ce = event if isinstance(event, int) else 0
        flight = 1.2 * wnd
        lost, marked = lost or event == "loss", marked or ce > 0
        scl = max(0.1, min(1.0, (8 * (wnd - wnd_i) / wnd_i) ** 2))
        if lost or marked:
            congested = now
        v = 0.0
        if now - reacted >= min(VIRTUAL_RTT, srtt) - 1e-9:
            if not lost and not marked:
                v = min(1.0, max(0.0, (q - TARGET / 2) / (TARGET / 2)))
            if lost or marked or v > 0:
                if allowed:
                    wnd_i, allowed = wnd, False
                far = max(1.0, srtt / VIRTUAL_RTT)
                if lost:
                    wnd *= 0.7
                elif marked and l4s:
                    backoff = alpha / 2 / far
                    if q < TARGET / 4:
                        backoff *= max(0.25, scl) * max(0.25, scale)
                    if now - reacted > 100 * max(VIRTUAL_RTT, srtt):
                        wnd = min(wnd, flight)
                    wnd *= 1 - backoff
                elif marked:
                    wnd *= 0.8
                else:
                    wnd *= 1 - v / 2 / far
                wnd = max(3000.0, wnd)
                lost = marked = False
                reacted = now
        post = max(0.0, min(1.0, (now - congested) / (100 * max(VIRTUAL_RTT, srtt))))
        increment = (8000 - ce) * min(1.0, MSS / wnd)
        increment *= min(1.0, srtt / VIRTUAL_RTT) * max(0.25, scl) * max(0.1, scale)
        increment *= 1 + 0.02 * wnd / MSS * post * scl
        if wnd + increment <= MSS + flight * 1.5:
            wnd += increment
            allowed = allowed or increment > 0
        if step % 10 == 9 or event is not None:
            rows.append((step, round(wnd, 2)))
    return rows


for l4s, srtt in ((True, 0.05), (False, 0.05), (True, 0.01)):
    print(f"windows, L4S {l4s}, RTT {srtt}:", windows(l4s, srtt))

# Section 4.5.4: phases of samples (number, delay in ms, share of RTTs with losses).
target, history, rows = TARGET, [], []
for count, delay, lossy in ((100, 5, 0), (100, 150, 0), (200, 150, 0.01), (200, 300, 0.01), (30, 0, 0), (200, 0, 0)):
    for _ in range(count):
        history = (history + [delay / 60])[-200:]
        new = TARGET * (fmean(history[-50:]) + pvariance(history) ** 0.5)
        if lossy > 0.002:
            target = 1.5 * new
        elif pvariance(history) < 0.2:
            target = new
        elif new < TARGET:
            target = max(target / 2, new)
        else:
            target *= 0.9
        target = max(TARGET, min(0.4, target))
    rows.append(round(target * 1e3, 3))
print("qdelay_target in ms after each phase:", rows)

# Section 4.4: window in bytes, RTT in seconds, target bitrate in kbit/s.
for wnd, srtt in ((3000, 0.05), (4000, 0.05), (20_000, 0.05), (100_000, 0.02)):
    ratio = min(1.0, MSS / wnd)
    scale = (1 - min(0.2, max(0.0, ratio - 0.1))) * MSS / (MSS + 20) / 1.2
    print("target bitrate:", wnd, srtt, round(scale * 8 * wnd / srtt / 1e3, 3))
