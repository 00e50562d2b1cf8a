//! The congestion controller of an endpoint.

use std::sync::Arc;

use clap::Args;
use congestion::{Algorithm, PathInfo};
use quic::connection::Settings;
use recovery::Config as Recovery;
use units::Ecn;

use crate::commands::controller;
use crate::status::Error;

/// A controller and its parameters.
#[derive(Clone, Debug, Args)]
pub(crate) struct ControllerArgs {
    /// Set the congestion controller for the data that this end sends.
    ///
    /// `ackclock algorithms` lists all controllers.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    controller: String,
    /// Set a parameter of the controller, as in `--set threshold="20 ms"` (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl ControllerArgs {
    /// Returns the controller after checking its parameters.
    pub(crate) fn algorithm(&self) -> Result<Algorithm, Error> {
        controller::algorithm("--controller ", &self.controller, &self.sets, "quic")
    }
}

/// Returns the settings of connections with this controller. They try ECN on every path, and stop
/// where the path does not carry it (RFC 9000 section 13.4.2). The mark is the controller's, if it
/// depends on one.
pub(crate) fn settings(algorithm: &Algorithm) -> Settings {
    let algorithm = algorithm.clone();
    let ecn = match algorithm.build(PathInfo::default()).needs().ecn {
        Ecn::NotEct => Ecn::Ect0,
        mark => mark,
    };
    let recovery = Recovery { ecn, ..Recovery::quic() };
    let settings = Settings { recovery: Arc::new(recovery), ..Settings::default() };
    settings.with_controller(move |path: PathInfo| algorithm.build(path))
}
