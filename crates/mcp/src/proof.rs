//! How a host proves that an answer comes from its own dialog (S9).

use std::io::Read;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a secret.
const SECRET: usize = 32;

/// What an answer's proof is computed over begins with this; a change of the form changes it.
const FORM: &str = "deputize-answer-1";

/// The secret that a host shares with the server that it started. It is nowhere but in memory.
pub struct HostSecret(Zeroizing<[u8; SECRET]>);

impl HostSecret {
    /// Reads the secret: exactly so many bytes.
    ///
    /// # Errors
    /// When there are fewer.
    pub fn read(mut from: impl Read) -> std::io::Result<Self> {
        let mut secret = Zeroizing::new([0; SECRET]);
        from.read_exact(&mut *secret)?;
        Ok(Self(secret))
    }

    /// Whether this proves that the host gave this answer to this question. The time that it takes
    /// tells nothing.
    #[must_use]
    pub fn proves(&self, proof: &str, question: &str, answer: &str, scope: &str) -> bool {
        let Some(claimed) = bytes(proof) else {
            return false;
        };
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&*self.0) else {
            return false;
        };
        mac.update(format!("{FORM}\n{question}\n{answer}\n{scope}").as_bytes());
        mac.verify_slice(&claimed).is_ok()
    }
}

/// The bytes that 64 lower-case hexadecimal digits stand for.
fn bytes(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> HostSecret {
        HostSecret::read(&[7_u8; 40][..]).unwrap()
    }

    /// S9: the form of the contract, computed by another implementation (Python's `hmac`).
    #[test]
    fn s9_the_proof_is_the_one_of_the_contract() {
        let proof = "9157f71eceee56b9983bc600ae79b2cdf044d5cc2be6180b328d31b47250ac77";
        assert!(secret().proves(proof, "q1", "yes", "run"));
        for (question, answer, scope) in [
            ("q2", "yes", "run"),
            ("q1", "no", "run"),
            ("q1", "yes", "preset"),
            ("q1", "yes", ""),
            ("q1\nyes", "run", ""),
        ] {
            assert!(!secret().proves(proof, question, answer, scope));
        }
        for wrong in [
            "",
            "00",
            &proof.to_uppercase(),
            &format!("{proof}0"),
            &"0".repeat(64),
        ] {
            assert!(!secret().proves(wrong, "q1", "yes", "run"), "{wrong}");
        }
        let other = HostSecret::read(&[8_u8; 32][..]).unwrap();
        assert!(!other.proves(proof, "q1", "yes", "run"));
        assert!(HostSecret::read(&[7_u8; 31][..]).is_err());
    }
}
