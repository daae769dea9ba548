//! Options of `cp2 run` that load arrays into DMEM, or dump DMEM and registers.

use crate::io::{Kind, NpyArray, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use cp2_asm::isa::{SCALARS, Scalar};
use cp2_emu::Processor;
use cp2_machine::LANE_BYTES;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::str::FromStr;

/// Number of words on one line of a dump.
const PER_LINE: usize = 8;

/// Parses an address or another 32-bit word, decimal or hexadecimal.
pub(super) fn parse_address(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no 32-bit number; expected one such as 256 or 0x100"))
}

/// Array to load into DMEM: `ADDR=FILE.npy`.
#[derive(Clone, Debug)]
pub(super) struct DmemLoad {
    /// DMEM byte address.
    pub(super) address: u32,
    /// File of the array.
    pub(super) file: PathBuf,
}

impl FromStr for DmemLoad {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, file) = text
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or("expected ADDR=FILE.npy, as in 0x100=x.npy")?;
        Ok(Self {
            address: parse_address(address)?,
            file: file.into(),
        })
    }
}

/// DMEM range to print or write: `ADDR:BYTES[=FILE.npy]`.
#[derive(Clone, Debug)]
pub(super) struct DmemDump {
    address: u32,
    bytes: u32,
    /// File to write; without one the dump goes to the text output.
    pub(super) file: Option<PathBuf>,
}

impl FromStr for DmemDump {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (range, file) = match text.split_once('=') {
            Some((_, "")) => return Err("expected a file name after `=`".to_owned()),
            Some((range, file)) => (range, Some(file.into())),
            None => (text, None),
        };
        let (address, bytes) = range
            .split_once(':')
            .ok_or("expected ADDR:BYTES, as in 0x100:64")?;
        let (address, bytes) = (parse_address(address)?, parse_address(bytes)?);
        if bytes == 0
            || !(address as usize).is_multiple_of(LANE_BYTES)
            || !(bytes as usize).is_multiple_of(LANE_BYTES)
        {
            return Err(format!(
                "{address}:{bytes}: expected multiples of {LANE_BYTES}, and at least {LANE_BYTES} bytes"
            ));
        }
        Ok(Self {
            address,
            bytes,
            file,
        })
    }
}

impl DmemDump {
    /// Writes the contents to the file, or adds them to the outcome's text.
    pub(super) fn apply(
        &self,
        processor: &Processor,
        outcome: &mut CommandOutcome,
    ) -> Result<(), CommandFailure> {
        let core = processor.core();
        // The range is checked before memory is allocated for it.
        let size = processor.machine().cp2.dmem.0;
        if u64::from(self.address) + u64::from(self.bytes) > size {
            let range = format!("{:#x}:{}", self.address, self.bytes);
            return Err(CommandFailure::input(format!(
                "--dump-dmem {range}: DMEM ends at {size:#x}; choose a smaller range"
            )));
        }
        let mut sections = Vec::new();
        for section in 0..core.sections() {
            let mut bytes = vec![0; self.bytes as usize];
            core.read_dmem(section, self.address, &mut bytes)
                .map_err(CommandFailure::input)?;
            sections.push(bytes);
        }
        match &self.file {
            Some(path) => {
                let shape = vec![sections.len(), self.bytes as usize / LANE_BYTES];
                write_whole(
                    path,
                    &NpyArray {
                        kind: Kind::Float32,
                        shape,
                        bytes: sections.concat(),
                    }
                    .to_npy(),
                )?;
                outcome.text += &format!("dmem: {}\n", path.display());
            }
            None => sections
                .iter()
                .enumerate()
                .for_each(|(s, bytes)| outcome.text += &self.text(s, bytes)),
        }
        let rows: Vec<Vec<u32>> = sections.iter().map(|b| words(b).collect()).collect();
        let dump = json!({ "address": self.address, "words": rows });
        match &mut outcome.json["dmem"] {
            Value::Array(list) => list.push(dump),
            other => *other = json!([dump]),
        }
        Ok(())
    }

    fn text(&self, section: usize, bytes: &[u8]) -> String {
        let mut out = format!("dmem of section {section}\n");
        let words: Vec<u32> = words(bytes).collect();
        for (line, chunk) in words.chunks(PER_LINE).enumerate() {
            let address = self.address as usize + line * PER_LINE * LANE_BYTES;
            let values: Vec<String> = chunk
                .iter()
                .map(|w| f32::from_bits(*w).to_string())
                .collect();
            out += &format!("  {address:#06x}  {}\n", values.join("  "));
        }
        out
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .chunks_exact(LANE_BYTES)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// Returns all lanes of all registers of a section.
fn registers(processor: &Processor, section: usize) -> Vec<Vec<u32>> {
    let cp2 = &processor.machine().cp2;
    let lane = |r, l| processor.core().register(section, r, l).unwrap_or_default();
    (0..cp2.registers)
        .map(|r| (0..cp2.register_lanes).map(|l| lane(r, l)).collect())
        .collect()
}

fn scalars(processor: &Processor) -> Vec<(String, u32)> {
    let all = (0..SCALARS as u8).map(Scalar);
    all.map(|s| (s.to_string(), processor.core().scalar(s)))
        .collect()
}

/// Formats the registers that are not zero.
pub(super) fn registers_text(processor: &Processor) -> String {
    let mut out = String::from("scalars\n");
    for (name, value) in scalars(processor).into_iter().filter(|(_, v)| *v != 0) {
        out += &format!("  {name:<4} {value:#010x}  {}\n", value as i32);
    }
    for section in 0..processor.core().sections() {
        out += &format!("registers of section {section}\n");
        for (r, lanes) in registers(processor, section)
            .iter()
            .enumerate()
            .filter(|(_, l)| l.iter().any(|&v| v != 0))
        {
            let values: Vec<String> = lanes
                .iter()
                .map(|v| format!("{v:08x} {}", f32::from_bits(*v)))
                .collect();
            out += &format!("  r{r:<3} {}\n", values.join("  "));
        }
    }
    out
}

/// Returns all registers as JSON.
pub(super) fn registers_json(processor: &Processor) -> Value {
    let sections: Vec<_> = (0..processor.core().sections())
        .map(|s| registers(processor, s))
        .collect();
    let scalars: serde_json::Map<String, Value> = scalars(processor)
        .into_iter()
        .map(|(n, v)| (n, json!(v)))
        .collect();
    json!({ "sections": sections, "scalars": scalars })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_refused() {
        let dump: DmemDump = "0x40:16=y.npy".parse().unwrap();
        assert_eq!(
            (dump.address, dump.bytes, dump.file),
            (64, 16, Some("y.npy".into()))
        );
        for wrong in [
            "0:4=",
            "",
            "64",
            "1:4",
            "0:0",
            "0:2",
            "0:x",
            "0x100000000:4",
        ] {
            assert!(wrong.parse::<DmemDump>().is_err(), "{wrong}");
        }
        let load: DmemLoad = "256=a=b.npy".parse().unwrap();
        assert_eq!((load.address, load.file), (256, "a=b.npy".into()));
        assert!("x.npy".parse::<DmemLoad>().is_err() && "4=".parse::<DmemLoad>().is_err());
    }
}
