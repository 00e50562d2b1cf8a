# Common tasks. `just --list` lists them. The program is at https://just.systems.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Takes under two minutes on two cores after a build.
# Check the format, lint the libraries and run their unit tests.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --lib --bins -- -D warnings
    cargo test --workspace --lib --quiet

# Run all checks of CI.
ci:
    .ci/run

# Needs nightly and cargo-fuzz; see fuzz/README.md.
# Run one fuzz target for this many seconds.
fuzz target seconds="300":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}} -max_len=16384

# Compare the results of two builds of `ackclock`, byte for byte.
same old new *experiments:
    .ci/same-results {{old}} {{new}} {{experiments}}

# Without cargo-insta: INSTA_UPDATE=always cargo test ...
# Review changed snapshots (help, errors), then keep or drop them.
snapshots:
    cargo insta test --review -p ackclock -p ackclock-experiment --test snapshots --test files

# Builds an instrumented program, runs the benchmark and builds again, in about ten minutes. One flow
# then takes 0.75 of a release build's time (docs/src/notebook/performance.md). Needs llvm-profdata of
# this compiler: `rustup component add llvm-tools`.
# Build the program with a profile of its benchmark.
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
