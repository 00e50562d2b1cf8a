//! The stacks that can be run, which of them are on this machine, and, where asked for, installing some:
//! `cargo run -p ackclock-programs --example programs -- quinn noq`.

/// Other QUIC stacks as processes are for Linux.
#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("Linux alone");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), ackclock_programs::Error> {
    use ackclock_programs::{shipped, stack};

    for name in std::env::args().skip(1) {
        stack::stack(&name)?.install_now()?;
    }
    for stack in shipped() {
        let here = stack.locate().map_or_else(|why| why.to_string(), |_| "installed".to_owned());
        let controllers: Vec<&str> = stack.controllers().collect();
        println!(
            "{} {} ({})\n    {}: {here}",
            stack.name(),
            stack.version(),
            stack.about(),
            controllers.join(", ")
        );
    }
    Ok(())
}
