//! Records of a processor's operations, and their form as bytes.

use crate::{NetworkError, Picoseconds};

/// A send or receive of a processor: these have numbers from 0 on, in the order of their records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub u64);

/// Something that a processor did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Instant at which its CPU was done with it.
    pub at: Picoseconds,
    /// Description of it.
    pub operation: RecordedOperation,
}

/// Operation of a processor on the network. The last five end its turn to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedOperation {
    /// Sends a message, which enters the network now.
    Send {
        /// Processor that receives it.
        destination: usize,
        /// Tag, by which the receiver may choose.
        tag: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// Posts a receive.
    Receive {
        /// Sender, or `None` for any.
        source: Option<usize>,
        /// Tag, or `None` for any.
        tag: Option<u32>,
        /// Length of the memory for the message, which may be shorter.
        bytes: u64,
    },
    /// Waits until all of these are complete.
    Wait {
        /// Requests that no wait or test has completed.
        requests: Vec<Request>,
    },
    /// Asks which of these are complete, and takes those.
    Test {
        /// Requests that no wait or test has completed.
        requests: Vec<Request>,
    },
    /// Goes on after the others had a turn: for one that sends much and never waits.
    Pause,
    /// Ends.
    End,
    /// Cannot go on.
    Fail {
        /// Reason, as people read it.
        message: String,
        /// True if the computer is at fault, and not what the processor computes.
        of_host: bool,
    },
}

impl RecordedOperation {
    /// Tells the operations with which a processor stops running from sends and receives.
    #[must_use]
    pub fn ends_turn(&self) -> bool {
        !matches!(self, Self::Send { .. } | Self::Receive { .. })
    }
}

const SEND: u8 = 0;
const RECEIVE: u8 = 1;
const WAIT: u8 = 2;
const TEST: u8 = 3;
const PAUSE: u8 = 4;
const END: u8 = 5;
const FAIL: u8 = 6;

impl Record {
    /// Appends the record: a byte for the operation, then numbers of 7 bits a byte, the lowest first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = |out: &mut Vec<u8>, code| {
            out.push(code);
            put(out, self.at.0);
        };
        match &self.operation {
            RecordedOperation::Send {
                destination,
                tag,
                bytes,
            } => {
                begin(out, SEND);
                put(out, *destination as u64);
                put(out, (*tag).into());
                put(out, *bytes);
            }
            RecordedOperation::Receive { source, tag, bytes } => {
                begin(out, RECEIVE);
                put_optional(out, source.map(|source| source as u64));
                put_optional(out, tag.map(u64::from));
                put(out, *bytes);
            }
            RecordedOperation::Wait { requests } => {
                begin(out, WAIT);
                put_requests(out, requests);
            }
            RecordedOperation::Test { requests } => {
                begin(out, TEST);
                put_requests(out, requests);
            }
            RecordedOperation::Pause => begin(out, PAUSE),
            RecordedOperation::End => begin(out, END),
            RecordedOperation::Fail { message, of_host } => {
                begin(out, FAIL);
                put(out, u64::from(*of_host));
                put(out, message.len() as u64);
                out.extend(message.as_bytes());
            }
        }
    }

    /// Reads a record from the front of `bytes`, which then begin behind it.
    ///
    /// # Errors
    /// They do not begin with a record; `rank` says whose they are.
    pub fn decode(bytes: &mut &[u8], rank: usize) -> Result<Self, NetworkError> {
        let mut reader = RecordReader::new(bytes, rank);
        let record = reader.record()?;
        *bytes = reader.rest;
        Ok(record)
    }
}

/// Appends a number: 7 bits a byte, the lowest first, the high bit set where more follow.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_optional(out: &mut Vec<u8>, number: Option<u64>) {
    match number {
        None => out.push(0),
        Some(number) => {
            out.push(1);
            put(out, number);
        }
    }
}

fn put_requests(out: &mut Vec<u8>, requests: &[Request]) {
    put(out, requests.len() as u64);
    for request in requests {
        put(out, request.0);
    }
}

/// A place in the records of a rank.
pub(crate) struct RecordReader<'a> {
    rest: &'a [u8],
    whole: usize,
    rank: usize,
}

impl<'a> RecordReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], rank: usize) -> Self {
        Self {
            rest: bytes,
            whole: bytes.len(),
            rank,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error at this place.
    pub(crate) fn expect(&self, expected: &'static str) -> NetworkError {
        NetworkError::Record {
            rank: self.rank,
            offset: self.whole - self.rest.len(),
            expected,
        }
    }

    fn byte(&mut self, expected: &'static str) -> Result<u8, NetworkError> {
        let (first, rest) = self
            .rest
            .split_first()
            .ok_or_else(|| self.expect(expected))?;
        self.rest = rest;
        Ok(*first)
    }

    fn number(&mut self, expected: &'static str) -> Result<u64, NetworkError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(expected)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.expect("a number of 64 bits"));
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.expect("a number of 64 bits"))
    }

    /// A number of a processor.
    pub(crate) fn processor(&mut self) -> Result<usize, NetworkError> {
        let number = self.number("a processor")?;
        usize::try_from(number).map_err(|_| self.expect("a processor"))
    }

    fn tag(&mut self) -> Result<u32, NetworkError> {
        let number = self.number("a tag")?;
        u32::try_from(number).map_err(|_| self.expect("a tag of 32 bits"))
    }

    fn optional<T>(
        &mut self,
        read: fn(&mut Self) -> Result<T, NetworkError>,
    ) -> Result<Option<T>, NetworkError> {
        match self.byte("0 for any, or 1")? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.expect("0 for any, or 1")),
        }
    }

    /// A number of things that follow, each of at least one byte.
    fn count(&mut self, expected: &'static str) -> Result<usize, NetworkError> {
        let count = self.number(expected)?;
        let count = usize::try_from(count).ok();
        let fits = count.filter(|count| *count <= self.rest.len());
        fits.ok_or_else(|| self.expect(expected))
    }

    fn requests(&mut self) -> Result<Vec<Request>, NetworkError> {
        let count = self.count("a count of requests, and as many")?;
        (0..count)
            .map(|_| self.number("a request").map(Request))
            .collect()
    }

    fn message(&mut self) -> Result<String, NetworkError> {
        let length = self.count("a length, and a text of as many bytes")?;
        let wrong = self.expect("a text in UTF-8");
        let (text, rest) = self.rest.split_at_checked(length).ok_or(wrong.clone())?;
        let text = std::str::from_utf8(text).map_err(|_| wrong)?;
        self.rest = rest;
        Ok(text.to_owned())
    }

    pub(crate) fn record(&mut self) -> Result<Record, NetworkError> {
        let code = self.byte("an operation")?;
        let at = Picoseconds(self.number("a time")?);
        let operation = match code {
            SEND => RecordedOperation::Send {
                destination: self.processor()?,
                tag: self.tag()?,
                bytes: self.number("a length")?,
            },
            RECEIVE => RecordedOperation::Receive {
                source: self.optional(Self::processor)?,
                tag: self.optional(Self::tag)?,
                bytes: self.number("a length")?,
            },
            WAIT => RecordedOperation::Wait {
                requests: self.requests()?,
            },
            TEST => RecordedOperation::Test {
                requests: self.requests()?,
            },
            PAUSE => RecordedOperation::Pause,
            END => RecordedOperation::End,
            FAIL => {
                let of_host = self.number("0 or 1")? > 0;
                let message = self.message()?;
                RecordedOperation::Fail { message, of_host }
            }
            _ => return Err(self.expect("the code of an operation, 0 to 6")),
        };
        Ok(Record { at, operation })
    }
}
