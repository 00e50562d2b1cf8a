//! QUIC error codes, and the error that closes a connection (RFC 9000 section 20, RFC 9001 section
//! 4.8).

use std::fmt;

/// A transport error code, as carried by CONNECTION_CLOSE of type 0x1c (RFC 9000 section 20.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u64);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// Returns the name that the RFC gives this code. Returns `None` for TLS alerts and for
            /// unregistered codes.
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
    /// The endpoint cannot continue because of an internal error.
    INTERNAL_ERROR = 0x01;
    /// The server refuses a new connection.
    CONNECTION_REFUSED = 0x02;
    /// The peer sent more data than its credit allows.
    FLOW_CONTROL_ERROR = 0x03;
    /// The peer used a stream above the limit of its type.
    STREAM_LIMIT_ERROR = 0x04;
    /// The peer sent a frame for a stream in a state that does not allow it.
    STREAM_STATE_ERROR = 0x05;
    /// The final size changed, or data lies beyond it.
    FINAL_SIZE_ERROR = 0x06;
    /// A frame cannot be decoded.
    FRAME_ENCODING_ERROR = 0x07;
    /// Transport parameters cannot be decoded or hold forbidden values.
    TRANSPORT_PARAMETER_ERROR = 0x08;
    /// The peer issued more connection IDs than `active_connection_id_limit`.
    CONNECTION_ID_LIMIT_ERROR = 0x09;
    /// The peer violated the protocol in a way that has no code of its own.
    PROTOCOL_VIOLATION = 0x0a;
    /// The token of a client's Initial packet is invalid.
    INVALID_TOKEN = 0x0b;
    /// The application closed the connection, in a packet that must not reveal the reason (section
    /// 10.2.3).
    APPLICATION_ERROR = 0x0c;
    /// The peer sent more CRYPTO data than the endpoint buffers.
    CRYPTO_BUFFER_EXCEEDED = 0x0d;
    /// A key update broke the rules of RFC 9001 section 6.
    KEY_UPDATE_ERROR = 0x0e;
    /// The confidentiality or integrity limit of the AEAD was reached (RFC 9001 section 6.6).
    AEAD_LIMIT_REACHED = 0x0f;
    /// No path is left that can carry QUIC.
    NO_VIABLE_PATH = 0x10;
}

impl Code {
    /// Returns the code of a TLS alert: 0x0100 plus its description (RFC 9001 section 4.8).
    pub const fn crypto(alert: u8) -> Self {
        Self(0x100 + alert as u64)
    }

    /// Returns the TLS alert that this code carries, if any.
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

/// Reason for closing a connection, sent in CONNECTION_CLOSE of type 0x1c (RFC 9000 section 19.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error code.
    pub code: Code,
    /// Type of the frame that caused the error; 0 if none did or if it is unknown.
    pub frame: u64,
    /// Reason for human readers; not interpreted by the protocol.
    pub reason: &'static str,
}

impl Error {
    /// Creates an error that is not tied to a frame.
    pub const fn new(code: Code, reason: &'static str) -> Self {
        Self { code, frame: 0, reason }
    }

    /// Returns the same error, caused by a frame of this type.
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
