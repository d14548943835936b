//! Every frame is stepped over exactly: what follows it is read all the same.

use proptest::prelude::*;

use super::*;

/// RFC 9000 §16.
fn varint(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

fn varints(values: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for &value in values {
        varint(value, &mut out);
    }
    out
}

fn parsed(payload: &[u8]) -> (Vec<Frame>, bool) {
    let mut log = Vec::new();
    let eliciting = parse(payload, &mut log);
    (log, eliciting)
}

/// A stream frame with everything explicit.
fn stream(id: u64, offset: u64, data: &[u8], fin: bool) -> Vec<u8> {
    let mut out = vec![0x0e | u8::from(fin)];
    out.extend(varints(&[id, offset, data.len() as u64]));
    out.extend(data);
    out
}

/// One of every other frame, written out.
fn others() -> Vec<Vec<u8>> {
    let with = |kind: u8, rest: Vec<u8>| [vec![kind], rest].concat();
    vec![
        vec![0; 5],
        vec![0x01],
        with(0x02, varints(&[9_000, 25, 2, 3, 1, 70_000, 5, 6])),
        with(0x03, varints(&[9_000, 25, 0, 3, 1, 2, 3])),
        with(0x05, varints(&[8, 0x1234_5678_9abc])),
        with(0x06, [varints(&[100, 3]), b"abc".to_vec()].concat()),
        with(0x07, [varints(&[3]), b"abc".to_vec()].concat()),
        with(0x10, varints(&[1 << 40])),
        with(0x11, varints(&[4, 1 << 40])),
        with(0x12, varints(&[100])),
        with(0x13, varints(&[100])),
        with(0x14, varints(&[100])),
        with(0x15, varints(&[4, 100])),
        with(0x16, varints(&[100])),
        with(0x17, varints(&[100])),
        with(0x18, [varints(&[1, 0]), vec![8], vec![7; 8 + 16]].concat()),
        with(0x19, varints(&[1])),
        with(0x1a, vec![9; 8]),
        with(0x1b, vec![9; 8]),
        vec![0x1e],
        vec![0x1f],
        [varints(&[0xaf]), varints(&[1, 2, 3, 4])].concat(),
    ]
}

#[test]
fn what_follows_any_frame_is_read() {
    let last = Frame::Stream {
        id: 6,
        offset: 70_000,
        len: 3,
        fin: true,
    };
    for other in others() {
        let payload = [other.clone(), stream(6, 70_000, b"xyz", true)].concat();
        assert_eq!(parsed(&payload), (vec![last], true), "after {other:x?}");
    }
    let all = others().concat();
    assert_eq!(
        parsed(&[all, stream(6, 70_000, b"xyz", true)].concat()).0,
        [last]
    );
}

#[test]
fn a_stream_frame_may_leave_out_offset_and_length() {
    assert_eq!(
        parsed(&[0x08, 2, 1, 2, 3]).0,
        [Frame::Stream {
            id: 2,
            offset: 0,
            len: 3,
            fin: false
        }]
    );
    assert_eq!(
        parsed(&[0x0d, 2, 5]).0,
        [Frame::Stream {
            id: 2,
            offset: 5,
            len: 0,
            fin: true
        }]
    );
}

#[test]
fn datagrams_and_resets_are_seen() {
    let mut payload = vec![0x04];
    payload.extend(varints(&[10, 7, 123_456]));
    payload.extend([0x31, 2, 1, 1]);
    payload.extend([0x30, 1, 2, 3]);
    assert_eq!(
        parsed(&payload).0,
        [
            Frame::Reset {
                id: 10,
                size: 123_456
            },
            Frame::Datagram { len: 2 },
            Frame::Datagram { len: 3 }
        ]
    );
}

#[test]
fn acknowledgements_padding_and_closes_ask_for_no_acknowledgement() {
    let ack = [vec![0x02], varints(&[9, 0, 0, 3])].concat();
    assert!(!parsed(&ack).1);
    assert!(!parsed(&[ack.clone(), vec![0; 20]].concat()).1);
    assert!(!parsed(&[0x1d, 0, 0]).1);
    assert!(parsed(&[ack, vec![0x01]].concat()).1);
    assert!(!parsed(&[]).1);
}

proptest! {
    #[test]
    fn nothing_is_read_beyond_the_payload(payload in prop::collection::vec(any::<u8>(), 0..64)) {
        let (frames, _) = parsed(&payload);
        let total: u64 = frames
            .iter()
            .map(|frame| match frame {
                Frame::Stream { len, .. } | Frame::Datagram { len } => *len,
                Frame::Reset { .. } => 0,
            })
            .sum();
        prop_assert!(total <= payload.len() as u64);
    }

    #[test]
    fn a_payload_cut_anywhere_gives_a_beginning(cut in 0_usize..200) {
        let payload = [others().concat(), stream(6, 1, b"xyz", true), stream(10, 0, b"", false)].concat();
        let whole = parsed(&payload).0;
        let cut = parsed(&payload[..cut.min(payload.len())]).0;
        prop_assert!(whole.starts_with(&cut));
    }
}
