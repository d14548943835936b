//! SETUP: what each side says of itself, once, on a stream of its own (since 05).

use super::Message;
use crate::lite::coding::{DecodeError, Reader, Writer};
use crate::lite::version::Version;

const PROBE: u64 = 1;
const PATH: u64 = 2;
const ROLE: u64 = 3;
const COST: u64 = 4;
const HOP: u64 = 5;

const MAX_PARAMETERS: u64 = 64;
const MAX_PATH: usize = 16 << 10;

/// How a side answers PROBE streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeLevel {
    /// It doesn't.
    #[default]
    None,
    /// It reports what it measures anyway.
    Report,
    /// It may send padding to measure more.
    Increase,
}

/// What a client uses the session for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It only publishes.
    Publisher,
    /// It only subscribes.
    Subscriber,
}

/// The parameters of a session. Those not known are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How the sender answers PROBE.
    pub probe: ProbeLevel,
    /// Path and query the client connects to; raw QUIC only, absent for the root.
    pub path: Option<String>,
    /// What the client does; both if absent.
    pub role: Option<Role>,
    /// What the dialler says the link costs (06).
    pub cost: Option<u64>,
    /// The sender's hop id (06); 0 or absent: none.
    pub hop: Option<u64>,
}

impl Message for Setup {
    const NAME: &'static str = "SETUP";

    fn encode_body(&self, body: &mut Writer, version: Version) {
        let mut count = 0;
        let mut parameters = Writer::new();
        if self.probe != ProbeLevel::None {
            count += 1;
            parameters.varint(PROBE).nested(|value| {
                value.varint(self.probe as u64);
            });
        }
        if let Some(path) = &self.path {
            count += 1;
            parameters.varint(PATH).text(path);
        }
        if let Some(role) = self.role {
            count += 1;
            parameters.varint(ROLE).nested(|value| {
                value.varint(if role == Role::Publisher { 1 } else { 2 });
            });
        }
        for (id, value) in [(COST, self.cost), (HOP, self.hop)] {
            if let Some(number) = value.filter(|_| version >= Version::Lite06) {
                count += 1;
                parameters.varint(id).nested(|value| {
                    value.varint(number);
                });
            }
        }
        body.varint(count).append(parameters);
    }

    fn decode_body(body: &mut Reader<'_>, version: Version) -> Result<Self, DecodeError> {
        let count = body.varint()?;
        if count > MAX_PARAMETERS {
            return Err(DecodeError::TooLong("the list of SETUP parameters"));
        }
        let mut setup = Self::default();
        let mut seen = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let id = body.varint()?;
            let value = body.bytes("a SETUP parameter", MAX_PATH)?;
            if seen.contains(&id) {
                return Err(DecodeError::Invalid("a SETUP parameter given twice"));
            }
            seen.push(id);
            setup.set(id, value, version)?;
        }
        Ok(setup)
    }
}

impl Setup {
    fn set(&mut self, id: u64, value: &[u8], version: Version) -> Result<(), DecodeError> {
        match id {
            PROBE => {
                self.probe = match number(value)? {
                    0 => ProbeLevel::None,
                    1 => ProbeLevel::Report,
                    _ => ProbeLevel::Increase,
                }
            }
            PATH => {
                let path =
                    str::from_utf8(value).map_err(|_| DecodeError::Invalid("the SETUP path"))?;
                self.path = Some(path.to_owned());
            }
            ROLE => {
                self.role = Some(match number(value)? {
                    1 => Role::Publisher,
                    2 => Role::Subscriber,
                    _ => return Err(DecodeError::Invalid("the SETUP role")),
                });
            }
            COST if version >= Version::Lite06 => self.cost = Some(number(value)?),
            HOP if version >= Version::Lite06 => self.hop = Some(number(value)?),
            _ => {}
        }
        Ok(())
    }
}

fn number(value: &[u8]) -> Result<u64, DecodeError> {
    let mut reader = Reader::new(value);
    let number = reader.varint()?;
    reader.finish()?;
    Ok(number)
}
