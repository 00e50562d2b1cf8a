# What is done often. `just --list` says what there is; https://just.systems has the program, and every recipe is a line of shell.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Under two minutes on two cores when built before: format, lints of the libraries, their unit tests.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --lib --bins -- -D warnings
    cargo test --workspace --lib --quiet

# Everything that must hold, as CI has it.
ci:
    .ci/run

# One fuzz target (fuzz/README.md) for so many seconds; needs nightly and cargo-fuzz.
fuzz target seconds="300":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}} -max_len=16384

# Compares the results of two builds of `ackclock`, byte for byte.
same old new *experiments:
    .ci/same-results {{old}} {{new}} {{experiments}}

# Look at snapshots that differ (help, errors), then keep or drop them; without cargo-insta: INSTA_UPDATE=always cargo test ...
snapshots:
    cargo insta test --review -p ackclock --test snapshots --test files

# The program guided by a profile of its benchmark, 0.75 of a release build's time with one flow (docs/performance.md): instrumented, run, built
# again, some ten minutes. Needs llvm-profdata of this compiler: `rustup component add llvm-tools`.
fastest:
    #!/usr/bin/env bash
    set -euo pipefail
    libraries=$(rustc --print target-libdir)
    merge=${libraries%/lib}/bin/llvm-profdata
    [ -x "$merge" ] || { echo "no llvm-profdata: rustup component add llvm-tools"; exit 1; }
    host=$(rustc -vV | sed -n 's/^host: //p')
    profile=$(mktemp -d)
    trap 'rm -rf "$profile"' EXIT
    built() { RUSTFLAGS=$2 cargo build --release --target "$host" --target-dir "target/$1"; }
    built profiled "-Cprofile-generate=$profile"
    for case in "1 flow, 500 Mbit/s, 60 s" "128 flows, 500 Mbit/s, 60 s" "1000 flows, 500 Mbit/s, 60 s" "1 flow of TCP, 500 Mbit/s" \
        "1 flow of NewReno, TCP, each ACK" "128 flows, CoDel" "QUIC, 10 Gbit/s x 100 ms"; do
        "target/profiled/$host/release/ackclock" bench "$case"
    done
    "$merge" merge -o "$profile/all" "$profile"/*.profraw
    built fastest "-Cprofile-use=$profile/all"
    echo "target/fastest/$host/release/ackclock"
