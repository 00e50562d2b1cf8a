//! quinn's controllers, by Ackclock's names.

use std::sync::Arc;

use stack::TransportConfig;
use stack::congestion::{BbrConfig, CubicConfig, NewRenoConfig};

pub fn set(config: &mut TransportConfig, name: &str) -> Result<(), String> {
    match name {
        "new-reno" => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "cubic" => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr1" => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
        _ => return Err(format!("quinn has no {name}")),
    };
    Ok(())
}
