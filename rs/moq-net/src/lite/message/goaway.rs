//! GOAWAY: the sender will close soon (since 04).

use super::Message;
use crate::lite::coding::{DecodeError, Reader, Writer};
use crate::lite::version::Version;

/// Longest URI, in bytes.
pub const MAX_URI: usize = 8192;

/// GOAWAY.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goaway {
    /// Where to connect instead; empty: to the same place again.
    pub uri: String,
}

impl Message for Goaway {
    const NAME: &'static str = "GOAWAY";

    fn encode_body(&self, body: &mut Writer, _: Version) {
        body.text(&self.uri);
    }

    fn decode_body(body: &mut Reader<'_>, _: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            uri: body.text("the GOAWAY URI", MAX_URI)?.to_owned(),
        })
    }
}
