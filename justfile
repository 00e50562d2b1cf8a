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

# Compares the results of two builds of `kneepoint`, byte for byte.
same old new *experiments:
    .ci/same-results {{old}} {{new}} {{experiments}}

# Look at snapshots that differ (help, errors), then keep or drop them; without cargo-insta: INSTA_UPDATE=always cargo test ...
snapshots:
    cargo insta test --review -p kneepoint --test snapshots --test files
