//! Error codes of QUIC, and the error that ends a connection (RFC 9000 section 20, RFC 9001 section 4.8).

use std::fmt;

/// A transport error code, as CONNECTION_CLOSE of type 0x1c carries it (RFC 9000 section 20.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u64);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The name that the RFC gives it; none for alerts of TLS and for codes that are not registered.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// The connection is closed without an error.
    NO_ERROR = 0x00;
    /// The endpoint cannot go on for a reason of its own.
    INTERNAL_ERROR = 0x01;
    /// The server refuses a new connection.
    CONNECTION_REFUSED = 0x02;
    /// More data than was granted.
    FLOW_CONTROL_ERROR = 0x03;
    /// A stream above the limit of its type.
    STREAM_LIMIT_ERROR = 0x04;
    /// A frame for a stream in a state that does not allow it.
    STREAM_STATE_ERROR = 0x05;
    /// The final size changed, or data lies beyond it.
    FINAL_SIZE_ERROR = 0x06;
    /// A frame that cannot be decoded.
    FRAME_ENCODING_ERROR = 0x07;
    /// Transport parameters that cannot be decoded or hold forbidden values.
    TRANSPORT_PARAMETER_ERROR = 0x08;
    /// More connection IDs than `active_connection_id_limit`.
    CONNECTION_ID_LIMIT_ERROR = 0x09;
    /// Whatever violates the protocol and has no code of its own.
    PROTOCOL_VIOLATION = 0x0a;
    /// The token of a client's Initial is not valid.
    INVALID_TOKEN = 0x0b;
    /// The application closed the connection, in a packet that must not say why (section 10.2.3).
    APPLICATION_ERROR = 0x0c;
    /// More CRYPTO data than the endpoint buffers.
    CRYPTO_BUFFER_EXCEEDED = 0x0d;
    /// A key update that the rules of RFC 9001 section 6 forbid.
    KEY_UPDATE_ERROR = 0x0e;
    /// The confidentiality or integrity limit of the AEAD (RFC 9001 section 6.6).
    AEAD_LIMIT_REACHED = 0x0f;
    /// No path is left that can carry QUIC.
    NO_VIABLE_PATH = 0x10;
}

impl Code {
    /// The code of a TLS alert: 0x0100 plus its description (RFC 9001 section 4.8).
    pub const fn crypto(alert: u8) -> Self {
        Self(0x100 + alert as u64)
    }

    /// The alert of TLS that this code carries.
    pub fn alert(self) -> Option<u8> {
        u8::try_from(self.0.checked_sub(0x100)?).ok()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.alert()) {
            (Some(name), _) => f.write_str(name),
            (None, Some(alert)) => write!(f, "CRYPTO_ERROR (TLS alert {alert})"),
            (None, None) => write!(f, "0x{:x}", self.0),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a connection must be closed: what CONNECTION_CLOSE of type 0x1c will say (RFC 9000 section 19.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error code.
    pub code: Code,
    /// The type of the frame at fault; 0 when none is, or when it is not known.
    pub frame: u64,
    /// For people; not part of the protocol.
    pub reason: &'static str,
}

impl Error {
    /// An error that no frame is known for.
    pub const fn new(code: Code, reason: &'static str) -> Self {
        Self { code, frame: 0, reason }
    }

    /// The same, caused by a frame of this type.
    pub const fn in_frame(self, frame: u64) -> Self {
        Self { frame, ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.reason)?;
        match self.frame {
            0 => Ok(()),
            frame => write!(f, " (frame 0x{frame:02x})"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_words_of_the_rfc() {
        assert_eq!(Code(0x0a).to_string(), "PROTOCOL_VIOLATION");
        assert_eq!(Code::crypto(42).to_string(), "CRYPTO_ERROR (TLS alert 42)");
        assert_eq!((Code::crypto(255).0, Code::crypto(255).alert()), (0x1ff, Some(255)));
        assert_eq!(Code(0x200).to_string(), "0x200");
        let error = Error::new(Code::FLOW_CONTROL_ERROR, "too much").in_frame(8);
        assert_eq!(error.to_string(), "FLOW_CONTROL_ERROR: too much (frame 0x08)");
    }
}
