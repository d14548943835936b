//! Stream error codes as they travel.
//!
//! Owns the mapping between a moq-lite stream code and the application error code on the wire. Called wherever a stream
//! is reset, stopped, or found reset. May not know what a code means: that is [`crate::Error`].
//!
//! WebTransport maps its 32-bit stream codes into a range of HTTP/3 error codes that leaves out every value HTTP/3
//! reserves for greasing, one in 0x1f (draft-ietf-webtrans-http3 §4.4). Published peers do so on raw QUIC as well, so
//! codes are sent mapped, and accepted mapped or plain.

const FIRST: u64 = 0x52e4_a40f_a8db;
const LAST: u64 = 0x52e5_ac98_3162;

/// What to put on the wire for a stream code. Codes beyond 32 bits can't be mapped and are sent as they are.
#[must_use]
pub const fn to_wire(code: u64) -> u64 {
    if code > u32::MAX as u64 {
        code
    } else {
        FIRST + code + code / 0x1e
    }
}

/// The stream code that came as `wire`.
#[must_use]
pub const fn from_wire(wire: u64) -> u64 {
    if wire < FIRST || wire > LAST {
        return wire;
    }
    let shifted = wire - FIRST;
    shifted - shifted / 0x1f
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_seen_from_published_peers() {
        assert_eq!(from_wire(91_141_958_510_812), 1);
        assert_eq!(to_wire(1), 91_141_958_510_812);
        assert_eq!(to_wire(u64::from(u32::MAX)), LAST);
    }

    #[test]
    fn plain_codes_are_accepted() {
        assert_eq!(from_wire(0x33), 0x33);
        assert_eq!(from_wire(LAST + 1), LAST + 1);
    }

    proptest! {
        #[test]
        fn mapped_codes_come_back(code: u32) {
            let code = u64::from(code);
            let wire = to_wire(code);
            prop_assert_eq!(from_wire(wire), code);
            prop_assert_ne!((wire - 0x21) % 0x1f, 0, "a reserved HTTP/3 code");
        }
    }
}
