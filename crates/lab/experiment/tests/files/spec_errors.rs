//! Every mistake in an experiment file is reported with its line and with advice.

use crate::common::{GOOD, good, parse, set, small};

const NEAR: &str = "increasing = [\"QUIC-DC 10\", \"QUIC-DC 80\"]";

/// A change to the good file, a marker on the expected line, and parts of the message.
pub(crate) const BAD: &[(&str, &str, &str, &[&str])] = &[
    // The default `max` of RED is in packets. It is not in the file, so no message is about it.
    (
        "queue = \"4",
        "aqm = { name = \"red\", min = \"80 %\", max = \"20 %\" }\nqueue = \"4",
        "aqm =",
        &["link.aqm.max: `min` must not be above `max`"],
    ),
    // Typos in keys, at each level.
    (
        "title =",
        "titel =",
        "titel =",
        &["titel: unknown key", "did you mean \"title\"?", "known: bias, chart, claim"],
    ),
    (
        "queue = \"4",
        "quue = \"4",
        "quue =",
        &["link.quue: unknown key", "did you mean \"queue\"? known: aqm"],
    ),
    ("transport =", "transprt =", "transprt", &["flow.0.transprt", "did you mean \"transport\"?"]),
    ("header =", "heder =", "heder", &["flow.0.packet.heder", "did you mean \"header\"?"]),
    (
        "packet-threshold",
        "paket-threshold",
        "paket",
        &["flow.0.recovery.paket-threshold", "\"packet-threshold\""],
    ),
    (
        "pacing.interval",
        "pacing.intervall",
        "intervall",
        &["flow.0.recovery.pacing.intervall", "\"interval\""],
    ),
    ("ack-every", "ack_every", "ack_every", &["flow.0.ack.ack_every", "did you mean \"ack-every\"?"]),
    ("drift-ppm", "drift", "drift =", &["flow.0.clock.drift: unknown key", "\"drift-ppm\""]),
    ("from =", "form =", "form =", &["measure.form", "did you mean \"from\"?"]),
    ("beta = 0.6", "beta = 2.0", "beta", &["flow.0.controller.beta", "above 0, below 1"]),
    ("beta =", "betta =", "betta", &["flow.0.controller.betta: unknown key", "did you mean \"beta\"?"]),
    ("metrics = [\"loss", "metric = [\"loss", "metric = [", &["table.metric: unknown key", "\"metrics\""]),
    ("columns =", "colums =", "colums", &["published.colums", "\"columns\""]),
    ("says = \"loss", "say = \"loss", "say =", &["claim.0.say: unknown key", "\"says\""]),
    ("min = [", "mim = [", "mim =", &["claim.0.left.mim", "did you mean \"min\"?"]),
    ("reason = \"headers", "reson = \"headers", "reson", &["miss.0.reson", "\"reason\""]),
    ("mark =", "mrk =", "mrk", &["chart.0.mrk", "\"mark\""]),
    ("every = 100", "evry = 100", "evry", &["link.reorder.evry", "\"every\""]),
    // Values without unit, with a wrong one, out of range.
    ("\"25 ms\"", "25", "delay = 25", &["link.delay: `25` has no unit", "needs one of ns, us"]),
    ("\"100 MB\"", "\"100\"", "transfer =", &["transfer: `100` has no unit", "kB, MB"]),
    ("\"4 BDP\"", "4", "queue = 4", &["link.queue: `4` has no unit", "24 packets"]),
    ("\"4 BDP\"", "\"4 BPD\"", "BPD", &["link.queue: `4 BPD` is not a queue size", "\"4 BDP\""]),
    ("\"0.1 %\"", "0.1", "loss = 0.1", &["link.loss: `0.1` has no unit", "\"1 %\""]),
    ("\"0.1 %\"", "\"101 %\"", "loss =", &["link.loss: above 100 %", "between \"0 %\" and"]),
    ("\"10 Mbit/s\"", "\"-10 Mbit/s\"", "rate =", &["link.rate: `-10 Mbit/s` is negative"]),
    ("\"10 Mbit/s\"", "-10", "rate =", &["link.rate: `-10` is negative", "Mbit/s"]),
    ("\"10 Mbit/s\"", "\"0 Mbit/s\"", "rate =", &["link.rate: the rate is 0"]),
    (
        "\"10 Mbit/s\"",
        "[[\"0 s\", \"0 bit/s\"], [\"1 s\", \"0 bit/s\"]]",
        "rate =",
        &["link.rate: the rate is 0", "above 0"],
    ),
    (
        "queue = ",
        "burst = \"99999999999999999999 GB\"\nqueue = ",
        "burst =",
        &["link.burst: 18446744073.709553 GB is too large", "must be at most 10 GB"],
    ),
    ("\"10 Mbit/s\"", "[[\"0 s\", \"10 Mbit/s\"], [\"9 s\"]]", "rate =", &["link.rate.1: invalid step"]),
    ("\"10 Mbit/s\"", "[[\"9 s\", \"1 Mbit/s\"], [\"1 s\", \"1 Mbit/s\"]]", "rate =", &["must increase"]),
    (
        "\"10 Mbit/s\"",
        "{ median = \"1 Mbit/s\",\n sigma = -1 }",
        "sigma",
        &["link.rate.sigma: `sigma` must be"],
    ),
    ("\"10 Mbit/s\"", "{ sigma = 1 }", "sigma", &["link.rate: `median` is missing"]),
    ("\"5 ms\"", "\"30 ms\"", "reorder", &["link.reorder: `reorder.by` is 30 ms, more than the `delay`"]),
    ("every = 100", "every = 0", "every", &["link.reorder: `reorder.every` is 0"]),
    (
        "\"4 BDP\"",
        "\"1000 bytes\"",
        "queue =",
        &["link.queue: a queue of 1 kB drops every", "1294 bytes must fit"],
    ),
    ("\"400 s\"", "\"0 s\"", "duration", &["duration: the run lasts 0 s"]),
    ("seed = 7", "seed = 9.5", "seed", &["seed: must be an integer, not 9.5"]),
    ("repetitions = 3", "repetitions = 0", "repetitions", &["repetitions: 0 is out of range", "between 1"]),
    ("seed = 7", "seed = 7\nseries = \"1 ns\"", "series", &["series: a sample every 1 ns", "or to \"off\""]),
    ("\"300 s\"", "\"500 s\"", "to =", &["measure.to: the window ends at 500 s", "ends at 400 s"]),
    ("\"10 s\"", "\"350 s\"", "from =", &["measure.from: the window goes from 350 s to 300 s"]),
    (
        "[[flow]]",
        "[[flow]]\nrtt = \"20 ms\"",
        "rtt =",
        &["flow.0.rtt: an RTT of 20 ms is shorter than the link's"],
    ),
    ("[[flow]]", "[[flow]]\ncount = 0", "count", &["flow.0.count: no flow has a count above 0"]),
    ("[[flow]]", "[[flow]]\ncount = -1", "count", &["flow.0.count: -1 is out of range", "at least 0"]),
    ("[[flow]]", "[[flow]]\nstart-jitter = \"400 s\"", "start-jitter", &["the last flow starts at 400 s"]),
    // Queue management.
    ("[link]", "[link]\naqm = \"coddle\"", "coddle", &["link.aqm: unknown AQM `coddle`", "\"codel\"?"]),
    ("[link]", "[link]\naqm.name = \"codl\"", "codl", &["link.aqm.name: unknown AQM `codl`"]),
    ("[link]", "[link]\naqm.target = \"5 ms\"", "aqm.target", &["link.aqm: `name` is missing"]),
    ("[link]", "[link]\naqm = 7", "aqm = 7", &["link.aqm: expected a name or a table", "write \"codel\""]),
    (
        "[link]",
        "[link]\naqm.name = \"codel\"\naqm.targte = \"5 ms\"",
        "targte",
        &["link.aqm.targte: unknown key; did you mean \"target\"?"],
    ),
    (
        "[link]",
        "[link]\naqm.name = \"red\"\naqm.min = \"half\"",
        "half",
        &["link.aqm.min: `half` is not a threshold", "default: \"5 packets\""],
    ),
    (
        "[link]",
        "[link]\naqm.name = \"red\"\naqm.min = \"20 packets\"",
        "aqm.min",
        &["link.aqm.min: `min` must not be above `max`"],
    ),
    (
        "[link]",
        "[link]\naqm.name = \"red\"\naqm.weight = 2.0\naqm.gentle = true",
        "weight",
        &["link.aqm.weight: `weight` must be above 0"],
    ),
    ("[link]", "[link]\ncorrupt = \"101 %\"", "corrupt =", &["link.corrupt: above 100 %"]),
    ("[link]", "[link]\ndrop = [1, 0]", "0]", &["packet number 0 does not exist", "from 1"]),
    (
        "[link]",
        "[link]\nblackhole = [[\"2 s\", \"1 s\"]]",
        "blackhole =",
        &["a blackhole from 2 s to 1 s", "must end after its start"],
    ),
    ("[link]", "[link]\nbleach = \"yes\"", "bleach", &["link.bleach: must be true or false, not \"yes\""]),
    // A NAT.
    (
        "transport =",
        "rebind = [[\"5 s\", \"port\"], [\"5 s\", \"address\"]]\ntransport =",
        "rebind",
        &["each must be later than the one before"],
    ),
    (
        "transport =",
        "rebind = [[\"5 s\", \"host\"]]\ntransport =",
        "rebind",
        &["unknown value `host`; known: port, address"],
    ),
    // UDP.
    // Applications.
    (
        "transport =",
        "application = \"medai\"\ntransport =",
        "application =",
        &["flow.0.application: unknown application `medai`", "did you mean \"media\"?"],
    ),
    (
        "transport =",
        "application = 7\ntransport =",
        "application =",
        &["flow.0.application: expected a name or a table", "\"media\""],
    ),
    (
        "transport =",
        "application = { fps = 30 }\ntransport =",
        "application =",
        &["flow.0.application: `name` is missing"],
    ),
    (
        "transport =",
        "application = { name = \"bulk\", fps = 30 }\ntransport =",
        "application =",
        &["flow.0.application.fps: unknown key"],
    ),
    (
        "transport =",
        "application = { name = \"media\", fsp = 30 }\ntransport =",
        "application =",
        &["flow.0.application.fsp: unknown key", "did you mean \"fps\"?"],
    ),
    (
        "transport =",
        "application = { name = \"media\", fps = 0 }\ntransport =",
        "application =",
        &["flow.0.application.fps: 0 is out of range", "between 1 and 1000"],
    ),
    (
        "transport =",
        "application = { name = \"media\", key-frames = { every = \"2 s\" } }\ntransport =",
        "application =",
        &["flow.0.application.key-frames.size: missing", "like size = 4"],
    ),
    (
        "transport =",
        "application = { name = \"media\", key-frames = { every = \"2 s\", size = 0.5 } }\ntransport =",
        "application =",
        &["flow.0.application.key-frames.size: 0.5 is out of range", "between 1 and 1000"],
    ),
    (
        "transport =",
        "application = { name = \"media\", key-frames = { every = \"0 s\", size = 4 } }\ntransport =",
        "application =",
        &["flow.0.application.key-frames.every: the interval is 0", "must be above 0"],
    ),
    (
        "transport =",
        "application = { name = \"media\", fps = 29.97 }\ntransport =",
        "application =",
        &["flow.0.application.fps: must be an integer, not 29.97; write 30"],
    ),
    (
        "transport =",
        "application = { name = \"media\", fps = \"30\" }\ntransport =",
        "application =",
        &["flow.0.application.fps: must be "],
    ),
    (
        "transport =",
        "application = { name = \"media\", min-rate = \"2 Mbit/s\" }\ntransport =",
        "application =",
        &["flow.0.application.min-rate: min-rate 2 Mbit/s is above max-rate"],
    ),
    (
        "transport =",
        "application = { name = \"media\", max-rate = \"0 bit/s\" }\ntransport =",
        "application =",
        &["flow.0.application.max-rate: the encoder's rate is 0"],
    ),
    (
        "transport =",
        "application = { name = \"media\", max-rate = \"20000 Gbit/s\" }\ntransport =",
        "application =",
        &["flow.0.application.max-rate: 20000 Gbit/s is too high"],
    ),
    (
        "transport =",
        "application = { name = \"media\", start-rate = \"100 kbit/s\" }\ntransport =",
        "application =",
        &["flow.0.application.start-rate: 100 kbit/s is out of range", "between min-rate 150 kbit/s"],
    ),
    (
        "transport =",
        "application = { name = \"media\", audio = \"1 Mbit/s\" }\ntransport =",
        "application =",
        &["flow.0.application.audio: an audio rate of 1 Mbit/s", "every 20 ms"],
    ),
    (
        "transport =",
        "application = { name = \"media\", variation = \"101 %\" }\ntransport =",
        "application =",
        &["flow.0.application.variation: 101 % is out of range"],
    ),
    (
        "transport =",
        "application = { name = \"media\", reaction = 100 }\ntransport =",
        "application =",
        &["flow.0.application.reaction: `100` has no unit"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", object = \"0 B\" }\ntransport =",
        "application =",
        &["flow.0.application.object: invalid object sizes: 0 bytes", "at least 1 byte"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", object = [\"50 kB\", \"30 kB\"] }\ntransport =",
        "application =",
        &["flow.0.application.object: invalid object sizes: 50 kB to 30 kB", "smallest first"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", object = [\"50 kB\"] }\ntransport =",
        "application =",
        &["flow.0.application.object: expected two sizes, found 1"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", idle = \"0 s\" }\ntransport =",
        "application =",
        &["flow.0.application.idle: an idle time of 0", "at least 1 us"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", begins = \"of\" }\ntransport =",
        "application =",
        &["flow.0.application.begins: unknown begins `of`", "known: on, off"],
    ),
    (
        "transport =",
        "application = { name = \"on-off\", connection = \"old\" }\ntransport =",
        "application =",
        &["flow.0.application.connection: unknown connection `old`", "new"],
    ),
    (
        "transport =",
        "application = \"media\"\ntransfer = \"1 MB\"\ntransport =",
        "transfer = \"1 MB\"",
        &["flow.0.transfer: `transfer` needs bulk data"],
    ),
    ("transport =", "pauses = \"40 s\"\ntransport =", "pauses =", &["flow.0.pauses: expected a list"]),
    ("transport =", "pauses = [[\"40 s\"]]\ntransport =", "pauses =", &["flow.0.pauses.0: invalid pause"]),
    (
        "transport =",
        "pauses = [[\"60 s\", \"40 s\"]]\ntransport =",
        "pauses =",
        &["flow.0.pauses.0: a pause from 60 s to 40 s"],
    ),
    (
        "transport =",
        "pauses = [[\"40 s\", \"60 s\"], [\"50 s\", \"70 s\"]]\ntransport =",
        "pauses =",
        &["flow.0.pauses.1: starts at 50 s", "in order"],
    ),
    (
        "[link]",
        "[[udp]]\nsize = \"1 kB\"\n[link]",
        "[[udp]]",
        &["udp.0.rate: missing; write the sending rate"],
    ),
    ("[link]", "[[udp]]\nrate = \"1 Mbit/s\"\n[link]", "[[udp]]", &["udp.0.size: missing", "1054 bytes"]),
    (
        "[link]",
        "[udp]\nrate = \"1 Mbit/s\"\n[link]",
        "[udp]",
        &["udp: expected a list of tables; write [[udp]]"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\nstat = \"1 s\"\n[link]",
        "stat =",
        &["udp.0.stat: unknown key; did you mean \"start\"?"],
    ),
    ("[link]", "[[udp]]\nrate = \"1\"\nsize = \"1 kB\"\n[link]", "rate =", &["udp.0.rate: `1` has no unit"]),
    ("[link]", "[[udp]]\nrate = []\nsize = \"1 kB\"\n[link]", "rate =", &["udp.0.rate: the list is empty"]),
    (
        "[link]",
        "[[udp]]\nrate = [[\"2 s\", \"1 bit/s\"], [\"1 s\", \"2 bit/s\"]]\nsize = \"1 kB\"\n[link]",
        "rate =",
        &["udp.0.rate: the times of the steps of `rate` must increase"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = { median = \"1 Mbit/s\" }\nsize = \"1 kB\"\n[link]",
        "rate =",
        &["udp.0.rate: slots apply to links", "or steps"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"20000 Gbit/s\"\nsize = \"1 kB\"\n[link]",
        "rate =",
        &["udp.0.rate: 20000 Gbit/s is too high"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1000 Gbit/s\"\nsize = \"1 kB\"\n[link]",
        "rate =",
        &["udp.0.rate: 1000 Gbit/s in packets of 1 kB sends one every 8 ns", "at least 10 ns apart"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"0 bytes\"\n[link]",
        "size =",
        &["udp.0.size: a size of 0 bytes", "65 535"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\nstart = \"400 s\"\n[link]",
        "start =",
        &["udp.0.start: starts at 400 s", "must be before 400 s"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\nstart = \"4 s\"\nstop = \"3 s\"\n[link]",
        "stop =",
        &["udp.0.stop: stops at 3 s, but starts at 4 s"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\non-off.on = \"5 s\"\n[link]",
        "on-off",
        &["udp.0.on-off.off: missing; write on-off as {"],
    ),
    (
        "[link]",
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 kB\"\non-off = { on = \"5 s\", off = \"1 ns\" }\n[link]",
        "on-off",
        &["udp.0.on-off.off: 1 ns is too short; must be at least 1 us"],
    ),
    (
        "[\"loss\", ",
        "[\"udp_loss of BBR\", ",
        "udp_loss of",
        &["table.metrics.0: no UDP has the label `BBR`"],
    ),
    // Probe.
    ("[link]", "[probe]\ninterval = \"0 s\"\n[link]", "interval", &["probe.interval: an interval of 0 ns"]),
    ("[link]", "[probe]\nsize = \"0 bytes\"\n[link]", "size", &["probe.size: a size of 0"]),
    ("[link]", "[probe]\nrtt = \"1 ms\"\n[link]", "rtt = ", &["probe.rtt: a base RTT of 1 ms"]),
    ("[link]", "[probe]\nevery = \"1 s\"\n[link]", "every = \"1 s", &["probe.every: unknown key"]),
    ("[[flow]]", "[[flow]]\nstart = \"400 s\"", "start", &["flow.0.start: the last flow starts at 400 s"]),
    ("[[flow]]", "[[flow]]\nstop = \"0 s\"", "stop", &["flow.0.stop: stops at 0 ns, but starts at 0 ns"]),
    (
        "[[flow]]",
        "[[flow]]\nstop = \"1 s\"\nlasts = \"1 s\"",
        "lasts",
        &["`stop` and `lasts` cannot be combined"],
    ),
    ("\"quic\"", "\"udp\"", "udp", &["flow.0.transport: unknown transport `udp`", "known: quic, tcp"]),
    ("\"37 bytes\"", "\"1252 bytes\"", "packet =", &["flow.0.packet: the header leaves no room"]),
    ("\"off\"", "-1", "packet-threshold", &["flow.0.recovery.packet-threshold", "default: 3"]),
    ("\"200 us\"", "\"200 us\"\npacing.factor = 0", "factor", &["flow.0.recovery.pacing.factor", "above 0"]),
    (
        "ack-every = 4",
        "timestamp-exponent = 21",
        "exponent",
        &["flow.0.ack.timestamp-exponent", "at most 20"],
    ),
    (
        "ack-every = 4",
        "quick-acks = true",
        "quick-acks",
        &["flow.0.ack.quick-acks: `quick-acks` applies to TCP only", "`ack-every = 1`"],
    ),
    ("drift-ppm = 50", "drift-ppm = nan", "drift", &["flow.0.clock.drift-ppm: `drift-ppm` must be between"]),
    // Controllers.
    (
        "\"cubic\"",
        "\"qubic\"",
        "qubic",
        &["flow.0.controller.name: unknown algorithm `qubic`", "did you mean \"cubic\"?"],
    ),
    (
        "beta = 0.6",
        "beta = \"x\"",
        "\"x\"",
        &["flow.0.controller.beta: must be a number, not ", "default: 0.7"],
    ),
    (
        "beta = 0.6",
        "beta = -0.6",
        "-0.6",
        &["flow.0.controller.beta: `-0.6` is out of range", "allowed: above 0, below 1"],
    ),
    ("80 % of buffer", "80 % of bufer", "bufer", &["flow.0.controller.threshold", "20 % of buffer"]),
    (
        "\"80 % of buffer\"",
        "80",
        "threshold = 80",
        &["flow.0.controller.threshold", "expected a value or \"off\", found `80`", "default: \"20 ms\""],
    ),
    (
        "queue = \"4 BDP\"",
        "",
        "10 % of buffer",
        &["flow.0.controller.threshold: `% of buffer` is undefined", "unlimited"],
    ),
    (
        "\"4 BDP\"",
        "\"0.5 BDP\"",
        "10 % of buffer",
        &["packets in propagation alone fill the limit of 31.25 kB"],
    ),
    ("name = \"new-reno\"", "beta = 0.5", "New Reno", &["flow.0.controller: `name` is missing"]),
    (
        "[vary]",
        "[vary]\n\"flow.slow-start\" = [\"slow\"]",
        "\"slow\"",
        &["flow.0.slow-start: unknown value `slow`; known: standard, "],
    ),
    // Vary and table.
    (
        "limit-counts\"",
        "limt-counts\"",
        "limt",
        &["link.limt-counts: unknown key; did you mean \"limit-counts\"?"],
    ),
    ("\"link.limit", "\"lnk.limit", "lnk", &["vary.\"lnk.limit-counts\": `lnk` cannot vary", "\"link\""]),
    ("\"queue+delay\"]", "\"both\"]", "both", &["link.limit-counts: unknown counting mode `both`"]),
    ("[\"queue\", \"queue+delay\"]", "[]", "limit-counts", &["vary.link.limit-counts: the list is empty"]),
    ("[\"queue\", \"queue+delay\"]", "\"queue\"", "limit-counts", &["expected a list"]),
    ("QUIC-DC 80\", name", "QUIC-DC 10\", name", "80 %", &["two values have the label `QUIC-DC 10`"]),
    (
        "\n[table]",
        "\"flow\" = [1]\n[table]",
        "\"flow\" = [1]",
        &["overwrites `flow.controller`, which is set above"],
    ),
    (
        "\n[table]",
        "\"flow.rtt\" = [\"1 s\", \"2 s\", \"1000 ms\"]\n[table]",
        "1000 ms",
        &["vary.flow.rtt.2: `1000 ms` equals `1 s`", "remove one of them"],
    ),
    (
        "\n[table]",
        "\"flow.rtt\" = [\"1 s\", \"2 s\", \"1 s\"]\n[table]",
        "1 s",
        &["vary.flow.rtt.2: two values have the label `1 s`", "remove one of them"],
    ),
    ("\n[table]", "\"flow.2.rtt\" = [\"1 s\"]\n[table]", "flow.2", &["`flow` has no element 2: it has 1"]),
    ("[table]", "[table]\nrows = \"flow.rtt\"", "flow.rtt", &["table.rows: `flow.rtt` does not vary"]),
    (
        "[vary]",
        "[vary]\nboth = [{ label = \"a\", set = { \"lnk.rate\" = 1 } }]",
        "both",
        &["vary.\"lnk.rate\": `lnk` cannot vary", "did you mean \"link\"?"],
    ),
    (
        "[vary]",
        "[vary]\nboth = [{ set = { \"link.rate\" = \"1 Mbit/s\" } }]",
        "both",
        &["vary.both.0.label: missing", "set = {"],
    ),
    (
        "[vary]",
        "[vary]\nboth = [{ label = \"a\", set = { \"link.rate\" = \"1 Mbps/s\" } }]",
        "both",
        &["link.rate: "],
    ),
    (
        "[vary]",
        "[vary]\nboth = [{ label = \"a\", sets = { }, set = { } }]",
        "both",
        &["vary.both.0.sets: unknown key"],
    ),
    (
        "\n[table]",
        "both = [{ label = \"a\", set = { \"flow\" = [] } }]\n[table]",
        "both",
        &["overwrites `flow.controller`, which is set above"],
    ),
    ("\n[table]", "rate = [1]\n[table]", "rate = [1]", &["`rate` cannot vary", "a name of your own"]),
    (
        "\n[table]",
        "both = [{ label = \"a\", set = { \"flow.0.rtt\" = \"1 s\", \"flow.rtt\" = \"2 s\" } }]\n[table]",
        "both",
        &["overwrites `flow.0.rtt`, which is set above"],
    ),
    (
        "[vary]",
        "[vary]\na = [{ label = \"1\", set = {} }, { label = \"1, b = 2\", set = {} }]\n\
         b = [{ label = \"2, b = 2\", set = {} }, { label = \"2\", set = {} }]",
        "[vary]",
        &["vary: two combinations have the name `a = 1, b = 2, b = 2"],
    ),
    ("[[flow]]", "[[flow]]\nlabel = \" \"", "label = \" \"", &["flow.0.label: the label is empty"]),
    // Groups of flows.
    ("[\"loss\", ", "[\"share\", ", "\"share\"", &["table.metrics.0: `share` needs the label of a flow"]),
    (
        "[\"loss\", ",
        "[\"loss of BBR\", ",
        "loss of BBR",
        &["table.metrics.0: no flow has the label `BBR`", "a run with several flow labels"],
    ),
    (
        "[\"loss\", ",
        "[\"ping_mean of BBR\", ",
        "ping_mean of",
        &["table.metrics.0: `ping_mean` covers the whole run"],
    ),
    // Results.
    (
        "[\"loss\", ",
        "[\"los\", ",
        "\"los\"",
        &["table.metrics.0: unknown metric `los`", "did you mean \"loss\"?"],
    ),
    (
        "quic-dc-table1",
        "quic-dc-tabel1",
        "tabel1",
        &["published.table: published table `quic-dc-tabel1.csv` is neither in", "quic-dc-table1.csv"],
    ),
    (
        "\"goodput_mbps\"",
        "\"goodput\"",
        "columns",
        &["has no column `goodput`", "did you mean \"goodput_mbps\"?"],
    ),
    ("loss = { column", "los = { column", "columns", &["published.columns.los: unknown metric `los`"]),
    (
        "\"owqd_threshold_percent_of_buffer\"",
        "\"rtt_avg_ms\"",
        "rows = [\"cca",
        &["no row of quic-dc-table1.csv"],
    ),
    ("metric = \"loss\"", "metric = \"los\"", "metric = \"los\"", &["claim.0.metric: unknown metric `los`"]),
    (
        "[\"Cubic\"]",
        "[\"CUBIC\"]",
        "[\"CUBIC",
        &["claim.0.left.min.0: `CUBIC` matches no row", "did you mean \"Cubic\"?"],
    ),
    (
        "is = \"at-least\"",
        "is = \"more\"",
        "more",
        &["claim.0.is: unknown relation `more`", "known: below, above"],
    ),
    ("times = 30", "times = inf", "inf", &["claim.0.times: must be a finite number"]),
    (
        "holds-published = true",
        "holds-published = false",
        "[[claim]]",
        &["in the published table 1.03 % is at least 0.9 %"],
    ),
    (
        "[\"limit-counts = queue\"]",
        "[\"queue\"]",
        "variants = [\"queue",
        &["`queue` matches no variant of the table"],
    ),
    (
        "[\"QUIC-DC 10\", \"",
        "[\"QUIC-DC 20\", \"",
        "increasing",
        &["claim.1.increasing.0: unknown row `QUIC-DC 20`"],
    ),
    ("increasing", "is = \"below\"\nincreasing", "increasing", &["`is` and `increasing` cannot be combined"]),
    (
        "increasing =",
        "rows = [\"Cubic\"]\nincreasing =",
        "rows = [\"Cubic\"]",
        &["`increasing` and `rows` cannot be combined"],
    ),
    (
        NEAR,
        "rows = [\"*\"]\nwithin-factor = 0.9",
        "0.9",
        &["claim.1.within-factor: `within-factor` must be above 1"],
    ),
    (
        NEAR,
        "left = 1\nis = \"near\"\nright = 1",
        "mean RTT grows",
        &["claim.1.within-factor: missing; 1.05 means"],
    ),
    (
        NEAR,
        "left = 1\nis = \"below\"\nright = 1\nwithin-factor = 1.1",
        "1.1",
        &["claim.1.within-factor: `within-factor` applies only to"],
    ),
    (
        "metric = \"rtt_mean\"\nincreasing = [\"QUIC-DC 10\", \"QUIC-DC 80\"]",
        "metric = \"jain\"\nrows = [\"*\"]\nwithin-factor = 1.1",
        "mean RTT grows",
        &["claim.1: no published jain for `QUIC-DC 10`"],
    ),
    ("S0-03.1", "S0-02", "mean RTT grows", &["claim.1: duplicate claim id `S0-02`"]),
    (
        "metrics = [\"goodput\"]",
        "metrics = [\"power\"]",
        "power",
        &["miss.0.metrics.0: `power` is not in the table"],
    ),
    ("mark = \"line\"", "mark = \"lin\"", "\"lin\"", &["chart.0.mark: unknown mark `lin`", "\"line\""]),
    ("x = \"time\"", "x = \"rtt\"", "cwnd_bytes", &["chart.0.y"]),
    (
        "[\"cwnd_bytes\"]",
        "[\"cwnd_byte\"]",
        "cwnd_byte",
        &["chart.0.y.0: unknown column of the series `cwnd_byte`", "\"cwnd_bytes\""],
    ),
    ("mark = \"line\"", "kind = \"stacked\"", "stacked", &["chart.0.kind: unknown key", "mark"]),
    // TOML itself.
    ("seed = 7", "seed = 7 8", "7 8", &["invalid TOML: "]),
    (
        "seed = 7",
        "seed = 99999999999999999999",
        "9999",
        &["seed: the number `99999999999999999999` is too large"],
    ),
    ("seed = 7", "repetitions = 7", "repetitions = 7", &["invalid TOML: duplicate key"]),
    (
        "[[flow]]\ntransport = \"quic\"",
        "[flow]\ntransport = \"quic\"",
        "[flow]",
        &["flow: expected a list of tables; write [[flow]]"],
    ),
    ("[link]", "[links]", "[links]", &["links: unknown key; did you mean \"link\"?"]),
];

#[test]
fn every_mistake_has_its_line_and_what_is_right() {
    for (from, to, marker, parts) in BAD {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let Err(problem) = parse(&text) else { panic!("accepted: {to}") };
        let said = problem.to_string();
        let at = text.find(marker).unwrap_or_else(|| panic!("{marker}"));
        let mut line = text[..at].matches('\n').count() + 1;
        // The table itself is at fault, which starts at its header.
        if *marker == "mean RTT grows" {
            line -= 2;
        }
        assert!(said.starts_with(&format!("experiments/quic-dc/x.toml:{line}: ")), "line {line}: {said}");
        for part in *parts {
            assert!(said.contains(part), "`{part}` is not in: {said}");
        }
    }
}

#[test]
fn missing_parts() {
    let missing = |from: &str, part: &str| {
        let said = small(from, "").unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    };
    missing("title = \"t\"", "x.toml:1: title: missing; write a title for the experiment");
    missing("duration = \"60 s\"", "x.toml:1: duration: missing; write the length of the run");
    missing("rate = \"10 Mbit/s\"", "x.toml:5: link.rate: missing; write the rate of the bottleneck");
    missing("delay = \"25 ms\"", "x.toml:10: flow.0: the base RTT is 0; give the link a `delay`");
    missing("controller = \"cubic\"", "x.toml:10: flow.0.controller: missing");
    missing("[[flow]]\ncontroller = \"cubic\"", "x.toml:1: flow: missing; write at least one [[flow]]");
    for text in ["", "  \n\n", "# nothing but words\n"] {
        let said = parse(text).unwrap_err().to_string();
        assert!(
            said.starts_with("experiments/quic-dc/x.toml:1: the file is empty; an experiment needs title"),
            "{said}"
        );
    }
}

/// A file that varies nothing, and keys at a wrong place.
#[test]
fn what_does_not_vary_or_belongs_elsewhere() {
    let chart = |keys: &str| format!("[[chart]]\nmark = \"line\"\ntitle = \"t\"\n{keys}\n[link]");
    let table = "[table]\nrows = \"mix\"\n[link]".to_owned();
    let reference = "[reference]\nvariants = [\"x\"]\nwhy = \"w\"\n[link]".to_owned();
    for (to, says) in [
        (table, "table.rows: `mix` does not vary: the file has no [vary]; add a key to [vary] or remove"),
        (
            reference,
            "reference.variants.0: `x` matches no variant: nothing varies apart from the rows; remove",
        ),
        (
            chart("x = \"link.queue\""),
            "chart.0.x: `link.queue` does not vary; write time, rtt, row, variant or a key of [vary]",
        ),
        (
            chart("x = \"rtt\"\ny = \"goodput\""),
            "chart.0.y: `goodput` cannot be the y axis of a chart over \"rtt\"; write \"cdf\"",
        ),
        ("[reverse]\n[link]".to_owned(), "reverse.rate: missing; write the rate of the return link"),
        (
            "experiment = \"x\"\n[[case]]\n[link]".to_owned(),
            "a manifest of results, not an experiment; name the experiment files",
        ),
    ] {
        let said = small("[link]", &to).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    let with_packet = |keys: &str| small("[[flow]]", &format!("[[flow]]\n{keys}")).unwrap_err().to_string();
    let quic = with_packet("packet = { mss = \"1 kB\" }");
    let says = "flow.0.packet.mss: only for transport = \"tcp\"; QUIC has datagram, header, overhead, ack";
    assert!(quic.contains(says), "{quic}");
    let tcp = with_packet("transport = \"tcp\"\npacket = { header = \"9 bytes\" }");
    let says = "flow.0.packet.header: only for transport = \"quic\"; TCP has mss, overhead, ack";
    assert!(tcp.contains(says), "{tcp}");
}

#[test]
fn nesting_without_end_is_refused() {
    for text in [
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("x = {{ a{} = 1 }}", " . a".repeat(100_000)),
        format!("[a{}]", ".\"a b\"".repeat(100_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
    ] {
        assert_eq!(parse(&text).unwrap_err().first().line, Some(1));
    }
}

#[test]
fn bad_overrides_name_the_argument() {
    let bad =
        |key: &str, value: &str| good().with_overrides(&set(key, value), false).unwrap_err().to_string();
    for (key, value, parts) in [
        ("link.rate", "20", "--set link.rate=20: link.rate: `20` has no unit"),
        ("link.rate", "20Mbits", "--set link.rate=20Mbits: link.rate: `Mbits` is not a unit of a rate"),
        ("link.raet", "1", "--set link.raet=1: link.raet: unknown key; did you mean \"rate\"?"),
        ("lnk.rate", "1", "--set lnk.rate=1: `lnk.rate` cannot be set; did you mean \"link\"?"),
        ("claim", "1", "`claim` cannot be set"),
        ("link..rate", "1", "`link..rate` cannot be set"),
        ("", "1", "`` cannot be set"),
        ("flow.3.rtt", "1 s", "`flow` has no element 3: it has 1, counted from 0"),
        ("duration.x", "1 s", "`duration` is a value, not a table with keys"),
        ("flow.controller.beta", "0.5", "`flow.controller` is varied by experiments/quic-dc/x.toml"),
        ("link", "{}", "`link.limit-counts` is varied by"),
        ("flow", "3", "--set flow=3: `flow` is a table; write one of its keys, like flow.rtt=30ms"),
        ("seed", "-1", "--set seed=-1: seed: -1 is out of range; must be between 0 and"),
        ("repetitions", "1\nseed = 2", "repetitions: must be an integer, not "),
    ] {
        assert!(bad(key, value).contains(parts), "{}", bad(key, value));
    }
    // The file itself is correct.
    let problem = bad("link.delay", "1 ms");
    assert!(
        problem.starts_with("experiments/quic-dc/x.toml:19: link.reorder: with --set link.delay=1 ms: "),
        "{problem}"
    );
}

/// A controller inside a controller is checked like any other, and a window cannot exceed the
/// memory.
#[test]
fn parameters_inside_base() {
    for (controller, says) in [
        (
            "{ name = \"cubic-ecn-gated\", base = { beta = 2.0 } }",
            "flow.0.controller.base.beta: `2.0` is out of range",
        ),
        (
            "{ name = \"cubic-ecn-gated\", base = { beta = nan } }",
            "flow.0.controller.base.beta: `nan` is out of range",
        ),
        (
            "{ name = \"bbr1-ecn-gated\", base = { high-gain = -1.0 } }",
            "base.high-gain: `-1.0` is out of range",
        ),
        ("{ name = \"dstar\", min-cwnd = 2000000 }", "flow.0.controller.min-cwnd: `2000000` is out of range"),
        (
            "{ name = \"bbr1\", pacing-gain-cycle = [1.25, -0.75, 1, 1, 1, 1, 1, 1] }",
            "flow.0.controller.pacing-gain-cycle: `-0.75` is out of range",
        ),
    ] {
        let said = crate::common::small("\"cubic\"", controller).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    // 0 disables this parameter. The range belongs to the parameter, not to its name.
    let off = crate::common::small("\"cubic\"", "{ name = \"bbr1\", extra-acked-gain = 0 }");
    assert!(off.is_ok(), "{}", off.unwrap_err());
}
