//! Two iterations of a loop: a line for each word, a column for each cycle.

use cp2_asm::Program;
use cp2_asm::analysis::SteadyLoop;
use cp2_asm::issue::WaitOn;
use cp2_machine::Class;
use std::fmt::Write as _;

/// Explanation of the letters.
pub(super) const LEGEND: &str = concat!(
    "  # issues; waits for a result of i integer, a add, m madd, b butterfly, e elementary, l load, g gather,\n",
    "  w unaligned, r exchange, d double-add, f double-madd, z double-complex, o error, s scalar-load, x scalar;\n",
    "  u waits for a busy unit; - the body starts again\n"
);

fn letter(on: WaitOn) -> char {
    match on {
        WaitOn::Unit(_) => 'u',
        WaitOn::Operand { producer, .. } => match producer {
            Class::Integer => 'i',
            Class::Add => 'a',
            Class::Madd => 'm',
            Class::Butterfly => 'b',
            Class::Elementary => 'e',
            Class::DoubleAdd => 'd',
            Class::DoubleMadd => 'f',
            Class::DoubleComplex => 'z',
            Class::Error => 'o',
            Class::Load => 'l',
            Class::Gather => 'g',
            Class::Unaligned => 'w',
            Class::Exchange => 'r',
            Class::ScalarLoad => 's',
            Class::Scalar => 'x',
            Class::Control => 'c',
        },
    }
}

/// Draws the shown words of a loop.
pub(super) fn draw(steady: &SteadyLoop, program: &Program) -> String {
    let mut text = String::new();
    let places = steady.shown.iter().map(|word| program.lines.get(word.pc));
    let lines: Vec<_> = places
        .map(|line| line.map_or(String::new(), |line| line.line.to_string()))
        .collect();
    let width = lines.iter().map(String::len).max().unwrap_or(0);
    let end = steady.shown.last().map_or(0, |last| last.at + 1);
    for (word, line) in steady.shown.iter().zip(&lines) {
        // The way back to the first word is drawn before it.
        let is_first =
            Some(word.pc) == steady.shown.first().map(|first| first.pc) && word.begin > 0;
        let back = if is_first { steady.back } else { 0 };
        let column = |cycle: u64| match cycle {
            c if c == word.at => '#',
            c if c >= word.begin && c < word.at => word.on.map_or('.', letter),
            c if c < word.begin && c + back >= word.begin => '-',
            _ => '.',
        };
        let columns: String = (0..end).map(column).collect();
        let instruction = program
            .words
            .get(word.pc)
            .and_then(|&bits| program.isa().decode(bits).ok());
        let instruction = instruction.map_or(String::new(), |word| word.to_string());
        let _ = writeln!(text, "  {line:>width$}  {columns}  {instruction}");
    }
    text
}
