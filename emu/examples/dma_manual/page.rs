//! Assembles the text of `docs/dma.md` from its template and the measured tables.

use super::{bench, lists};
use cp2_dma::{Descriptor, Target};

/// Returns the text of `docs/dma.md`.
pub(crate) fn page() -> Result<String, Box<dyn std::error::Error>> {
    let shown = Descriptor::load(Target::Blocks { stride: 4096 }, 0x1000, 0x40, 64);
    let shown = shown.level(8, 256, 64).event(3);
    let parts = [
        ("{display}", shown.to_string()),
        ("{refusals}", bench::refusals()?),
        ("{bandwidth}", bench::bandwidth()?),
        ("{setup}", bench::setup()?),
        ("{runs}", bench::runs()?),
        ("{words}", bench::words()?),
        ("{list}", lists::shown().to_string()),
        ("{lists}", lists::lists()?),
        ("{targets}", bench::targets()?),
        ("{queue}", bench::queue()?),
        ("{kernel}", bench::WAITER.to_owned()),
        ("{completion}", bench::completion()?),
        ("{ports}", bench::ports()?),
        ("{copying}", bench::copying()?),
    ];
    let mut text = include_str!("page.md").to_owned();
    for (name, part) in parts {
        text = text.replace(name, part.trim_end_matches(' '));
    }
    Ok(text)
}
