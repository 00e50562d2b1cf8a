//! Decodes bytes as transport parameters. It gives parameters or TRANSPORT_PARAMETER_ERROR. Decoded
//! parameters are encoded and decoded to the same parameters.
#![no_main]

use ackclock_quic::wire::TransportParameters;
use ackclock_quic::{Code, Side};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for side in [Side::Client, Side::Server] {
        match TransportParameters::decode(bytes, side) {
            Ok(parameters) => {
                let again = TransportParameters::decode(&parameters.to_vec(), side);
                assert_eq!(again, Ok(parameters));
            }
            Err(error) => assert_eq!(error.code, Code::TRANSPORT_PARAMETER_ERROR),
        }
    }
});
