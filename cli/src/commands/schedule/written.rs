//! A scheduled program as assembly without linear blocks.

use super::ScheduledProgram;
use crate::commands::source_text;
use cp2_asm::isa::DecodeError;
use std::collections::HashMap;

/// Returns the program as text that assembles to the same words: each with its source line behind it, each block with
/// its interval before it.
pub(super) fn write(own: &ScheduledProgram) -> Result<String, String> {
    let program = &own.assembly.program;
    let failed = |(pc, error): (usize, DecodeError)| format!("word {pc}: {error}");
    let mut listing = cp2_asm::disassemble(program).map_err(failed)?;
    let mut sources: HashMap<&str, Vec<String>> = HashMap::new();
    for pc in 0..program.words.len() {
        let (Some(line), Some(location)) = (program.lines.get(pc), program.location(pc)) else {
            continue;
        };
        let Some(file) = program.files.get(line.file as usize) else {
            continue;
        };
        let lines = sources.entry(file).or_insert_with(|| {
            let text = source_text(file).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        let index = (line.line as usize).checked_sub(1);
        let text = index.and_then(|index| lines.get(index));
        listing = listing.comment(
            pc,
            match text.map_or("", |text| before_comment(text)) {
                "" => location,
                text => format!("{location} | {text}"),
            },
        );
    }
    for block in &own.assembly.blocks {
        let remark = format!(
            "linear block {} on {}: {} words, interval {}, bound {}, {} registers",
            block.name, own.machine.name, block.words, block.interval, block.bound, block.registers,
        );
        listing = listing.remark(block.first_word, remark);
    }
    Ok(listing.to_string())
}

/// Returns a line of assembly without the comment at its end.
fn before_comment(text: &str) -> &str {
    let ends = [";", "//"].map(|mark| text.find(mark).unwrap_or(text.len()));
    let end = ends.into_iter().min().unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end()
}
