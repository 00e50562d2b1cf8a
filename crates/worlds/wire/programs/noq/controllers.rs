//! noq's controllers, by Ackclock's names.

use std::sync::Arc;

use stack::TransportConfig;
use stack::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};

pub fn set(config: &mut TransportConfig, name: &str) -> Result<(), String> {
    match name {
        "new-reno" => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "cubic" => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        "bbr3" => config.congestion_controller_factory(Arc::new(Bbr3Config::default())),
        _ => return Err(format!("noq has no {name}")),
    };
    Ok(())
}
