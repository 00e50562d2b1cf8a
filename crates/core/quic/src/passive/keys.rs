//! Derives packet keys from a secret (RFC 9001 section 5.1), in the form of `crate::crypto`. rustls
//! derives them only for its own sessions.

use crate::crypto::keys::{DirectionalKeys, HeaderProtectionKey, PacketKey, Tag};
use crate::rustls;
use ring::aead::{self, quic as header};
use ring::hkdf;

/// Sizes of an AEAD nonce and of a tag in bytes, the same for all suites of TLS 1.3.
const NONCE: usize = 12;
const TAG: usize = 16;
/// Header form bit of a long header.
const LONG: u8 = 0x80;

/// A cipher suite of TLS 1.3 that packets can be read with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305,
}

impl Suite {
    /// Returns the suite with this number (RFC 8446 appendix B.4), or `None` for other suites such
    /// as AES-CCM.
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            0x1301 => Some(Self::Aes128Gcm),
            0x1302 => Some(Self::Aes256Gcm),
            0x1303 => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// Returns the suites whose secrets have this length, in bytes.
    pub fn with_secret_len(length: usize) -> &'static [Self] {
        match length {
            32 => &[Self::Aes128Gcm, Self::ChaCha20Poly1305],
            48 => &[Self::Aes256Gcm],
            _ => &[],
        }
    }

    fn hash(self) -> hkdf::Algorithm {
        match self {
            Self::Aes256Gcm => hkdf::HKDF_SHA384,
            _ => hkdf::HKDF_SHA256,
        }
    }

    fn aead(self) -> (&'static aead::Algorithm, &'static header::Algorithm) {
        match self {
            Self::Aes128Gcm => (&aead::AES_128_GCM, &header::AES_128),
            Self::Aes256Gcm => (&aead::AES_256_GCM, &header::AES_256),
            Self::ChaCha20Poly1305 => (&aead::CHACHA20_POLY1305, &header::CHACHA20),
        }
    }

    /// Computes `length` bytes of HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
    fn expand(self, secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
        let label = format!("tls13 {label}");
        let length_bytes = u16::try_from(length).ok()?.to_be_bytes();
        let label_length = [u8::try_from(label.len()).ok()?];
        let info: [&[u8]; 4] = [&length_bytes, &label_length, label.as_bytes(), &[0]];
        let secret = hkdf::Prk::new_less_safe(self.hash(), secret);
        let mut out = vec![0; length];
        secret.expand(&info, Length(length)).and_then(|okm| okm.fill(&mut out)).ok()?;
        Some(out)
    }

    /// Returns the keys of packets that one end sends in the key phase of `secret`. Header
    /// protection uses `first_secret`, that of the first key phase, because key updates do not
    /// change it. Returns `None` if ring refuses a key.
    pub fn keys(self, first_secret: &[u8], secret: &[u8]) -> Option<DirectionalKeys> {
        let (aead, header) = self.aead();
        let key = self.expand(secret, "quic key", aead.key_len())?;
        let iv = self.expand(secret, "quic iv", NONCE)?.try_into().ok()?;
        let mask = self.expand(first_secret, "quic hp", aead.key_len())?;
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(aead, &key).ok()?);
        let header = header::HeaderProtectionKey::new(header, &mask).ok()?;
        Some(DirectionalKeys { header: Box::new(HeaderKey(header)), packet: Box::new(AeadKey { key, iv }) })
    }

    /// Returns the secret of the next key phase (RFC 9001 section 6.1).
    pub fn next(self, secret: &[u8]) -> Option<Vec<u8>> {
        self.expand(secret, "quic ku", secret.len())
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

struct AeadKey {
    key: aead::LessSafeKey,
    iv: [u8; NONCE],
}

impl AeadKey {
    /// Returns the nonce of a packet number (RFC 9001 section 5.3).
    fn nonce(&self, number: u64) -> aead::Nonce {
        let mut nonce = self.iv;
        nonce[NONCE - 8..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, of)| *byte ^= of);
        aead::Nonce::assume_unique_for_key(nonce)
    }
}

impl PacketKey for AeadKey {
    fn encrypt_in_place(&self, number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, rustls::Error> {
        let sealed =
            self.key.seal_in_place_separate_tag(self.nonce(number), aead::Aad::from(header), payload);
        sealed.map(|tag| Tag::from(tag.as_ref())).map_err(|_| rustls::Error::EncryptError)
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], rustls::Error> {
        let opened = self.key.open_in_place(self.nonce(number), aead::Aad::from(header), payload);
        opened.map(|payload| &*payload).map_err(|_| rustls::Error::DecryptError)
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    // These keys only decrypt, so there is no limit to enforce.
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

struct HeaderKey(header::HeaderProtectionKey);

impl HeaderKey {
    /// Adds or removes header protection (RFC 9001 section 5.4.1). The unmasked first byte has the
    /// length of the packet number. It is unmasked after the call if `unmask` is set, and before it
    /// otherwise.
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        number: &mut [u8],
        unmask: bool,
    ) -> Result<(), rustls::Error> {
        let mask = self.0.new_mask(sample).map_err(|_| rustls::Error::General("sample".to_owned()))?;
        let bits = if *first & LONG == 0 { 0x1f } else { 0x0f };
        let masked = *first ^ (mask[0] & bits);
        let plain = if unmask { masked } else { *first };
        *first = masked;
        let length = usize::from(plain & 3) + 1;
        number.iter_mut().take(length).zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

impl HeaderProtectionKey for HeaderKey {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        number: &mut [u8],
    ) -> Result<(), rustls::Error> {
        self.apply(sample, first, number, false)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        number: &mut [u8],
    ) -> Result<(), rustls::Error> {
        self.apply(sample, first, number, true)
    }

    fn sample_len(&self) -> usize {
        self.0.algorithm().sample_len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digits: &str) -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    /// RFC 9001 appendix A.5: the secret, the keys derived from it, and a packet with one PING.
    #[test]
    fn chacha20_of_the_rfc() {
        let suite = Suite::ChaCha20Poly1305;
        let secret = hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let key = suite.expand(&secret, "quic key", 32).unwrap();
        assert_eq!(key, hex("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8"));
        assert_eq!(suite.expand(&secret, "quic iv", 12).unwrap(), hex("e0459b3474bdd0e44a41c144"));
        let next = hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9");
        assert_eq!(suite.next(&secret).unwrap(), next);

        let keys = suite.keys(&secret, &secret).unwrap();
        let sealed = hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let mut packet = sealed.clone();
        let (head, sample) = packet.split_at_mut(5);
        let (first, number) = head.split_at_mut(1);
        keys.header.decrypt_in_place(&sample[..16], &mut first[0], number).unwrap();
        assert_eq!(packet[..4], hex("4200bff4"));
        let (head, body) = packet.split_at_mut(4);
        assert_eq!(keys.packet.decrypt_in_place(654_360_564, head, body).unwrap(), [1]);

        // The inverse.
        let mut again = hex("4200bff401");
        let (head, body) = again.split_at_mut(4);
        let tag = keys.packet.encrypt_in_place(654_360_564, head, body).unwrap();
        again.extend_from_slice(tag.as_ref());
        let (head, sample) = again.split_at_mut(5);
        let (first, number) = head.split_at_mut(1);
        keys.header.encrypt_in_place(&sample[..16], &mut first[0], number).unwrap();
        assert_eq!(again, sealed);
    }

    /// Suites by number, and the keys of each.
    #[test]
    fn suites() {
        let all = [0x1301, 0x1302, 0x1303].map(Suite::from_number);
        assert_eq!(all, [Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305].map(Some));
        assert_eq!(Suite::from_number(0x1304), None, "AES-128-CCM");
        for suite in all.into_iter().flatten() {
            let secret = [7; 32];
            let keys = suite.keys(&secret, &suite.next(&secret).unwrap()).unwrap();
            assert_eq!((keys.packet.tag_len(), keys.header.sample_len()), (16, 16));
        }
    }
}
