//! Hashes of the state that a run begins with: each input, and the rest.

use super::EmittedArray;
use crate::device::Command;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Hashes of the state that a run begins with.
pub(super) struct ContentHashes<'a> {
    inputs: Vec<(&'a EmittedArray, Sha256)>,
    rest: Sha256,
    /// Address behind the memory that was taken last.
    next: Option<u64>,
}

impl<'a> ContentHashes<'a> {
    pub(super) fn new(inputs: &'a [EmittedArray]) -> Self {
        Self {
            inputs: inputs.iter().map(|a| (a, Sha256::new())).collect(),
            rest: Sha256::new(),
            next: None,
        }
    }

    /// Adds bytes that are no memory.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.rest.update(bytes);
    }

    /// Adds memory, in the order of addresses; bytes of an input count for that input alone.
    pub(super) fn memory(&mut self, address: u64, bytes: &[u8]) {
        let mut others = bytes.to_vec();
        for (array, hash) in &mut self.inputs {
            let start = array.address.saturating_sub(address);
            let end = array
                .address
                .saturating_add(array.bytes)
                .saturating_sub(address)
                .min(bytes.len() as u64);
            if start < end {
                let part = start as usize..end as usize;
                hash.update(&bytes[part.clone()]);
                others[part].fill(0);
            }
        }
        // An address is added only where a stretch begins, so that the hash does not depend on how stretches
        // are cut.
        if self.next != Some(address) {
            self.rest.update(address.to_le_bytes());
        }
        self.next = address.checked_add(bytes.len() as u64);
        self.rest.update(&others);
    }

    /// Returns the hashes of the inputs, and of the rest with the commands.
    pub(super) fn finish(mut self, commands: &[Command]) -> io::Result<(Vec<String>, String)> {
        let mut out = io::BufWriter::new(Hashed(&mut self.rest));
        serde_json::to_writer(&mut out, commands)?;
        out.flush()?;
        drop(out);
        let inputs = self.inputs.into_iter().map(|(_, hash)| hex(hash)).collect();
        Ok((inputs, hex(self.rest)))
    }
}

/// Writes into a hash.
struct Hashed<'a>(&'a mut Sha256);

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formats a hash in hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
