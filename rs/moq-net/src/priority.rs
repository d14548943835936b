//! How two wishes become one send-group priority.
//!
//! Owns the mapping, called by the wire's publisher when it opens a subscription's send group and on every update. May
//! not know what a send group is: it is arithmetic.

/// The priority of a subscription's send group: the subscriber's wish decides, the publisher's breaks ties.
///
/// Both run from 0 (least) to 255 (most); so does each half of the result. Group sequence has no part in it: that is
/// the order of a stream inside its send group.
#[must_use]
pub const fn send_group(subscriber: u8, publisher: u8) -> u16 {
    u16::from_be_bytes([subscriber, publisher])
}

#[cfg(test)]
mod tests {
    use super::send_group;

    #[test]
    fn subscriber_decides_first() {
        assert!(send_group(2, 0) > send_group(1, 255));
    }

    #[test]
    fn publisher_breaks_ties() {
        assert!(send_group(7, 200) > send_group(7, 127));
    }

    #[test]
    fn larger_is_more_urgent_over_the_whole_range() {
        assert_eq!(send_group(0, 0), u16::MIN);
        assert_eq!(send_group(255, 255), u16::MAX);
    }
}
