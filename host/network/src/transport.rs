//! How ranks exchange bytes.

/// A transport that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transport {transport}, rank {rank}: {message}")]
pub struct TransportError {
    /// Its name.
    pub transport: &'static str,
    /// The rank on which it failed.
    pub rank: usize,
    /// Why, and what to do.
    pub message: String,
}

/// Moves bytes between ranks, which all call the same functions in the same order.
pub trait Transport {
    /// A name for reports: "in-process", "mpi".
    fn name(&self) -> &'static str;

    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks, at least one.
    fn ranks(&self) -> usize;

    /// Gathers what each rank says, by rank.
    ///
    /// # Errors
    /// Another rank cannot be reached.
    fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError>;

    /// Sends `out[r]` to rank r; returns what came from each rank, `sizes[r]` bytes of it. Both have an
    /// element for each rank, that of the own rank empty.
    ///
    /// # Errors
    /// Another rank cannot be reached.
    fn exchange(
        &mut self,
        out: Vec<Vec<u8>>,
        sizes: &[usize],
    ) -> Result<Vec<Vec<u8>>, TransportError>;
}

/// One rank, which has all processors.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Transport for InProcess {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn all_gather(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, TransportError> {
        Ok(vec![own])
    }

    fn exchange(
        &mut self,
        out: Vec<Vec<u8>>,
        _sizes: &[usize],
    ) -> Result<Vec<Vec<u8>>, TransportError> {
        Ok(out)
    }
}

/// Brings what each rank has to rank 0, which gets it by rank; the others get nothing.
///
/// # Errors
/// Another rank cannot be reached.
pub fn gather(
    transport: &mut dyn Transport,
    own: Vec<u8>,
) -> Result<Option<Vec<Vec<u8>>>, TransportError> {
    let length = (own.len() as u64).to_le_bytes().to_vec();
    let lengths = transport.all_gather(length)?;
    let first = transport.rank() == 0;
    let size = |bytes: &Vec<u8>| {
        let length = bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
        usize::try_from(length).unwrap_or(usize::MAX)
    };
    let sizes = lengths
        .iter()
        .map(|length| if first { size(length) } else { 0 });
    let sizes: Vec<usize> = sizes.collect();
    let mut out = vec![Vec::new(); lengths.len()];
    if let Some(to_first) = out.first_mut() {
        *to_first = own;
    }
    let all = transport.exchange(out, &sizes)?;
    Ok(first.then_some(all))
}
