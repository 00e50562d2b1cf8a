//! Lists the stacks that can be run, and says which are installed. Installs those named as
//! arguments: `cargo run -p ackclock-wire --example programs -- quinn noq`.

/// The crate is empty on other systems.
#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("other QUIC stacks run only on Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), ackclock_wire::processes::Error> {
    use ackclock_wire::processes::{shipped, stack};

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
