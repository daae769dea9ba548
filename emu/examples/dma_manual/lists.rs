//! Micro-benchmarks of list transfers.

use super::bench::{Result, cycles, run, table};
use cp2_dma::{ListTarget, ListTransfer};
use cp2_machine::Machine;
use std::sync::Arc;

/// Returns the list that the page shows as a trace does.
pub(crate) fn shown() -> ListTransfer {
    ListTransfer::load(
        ListTarget::Section(2),
        0x1000,
        8,
        (0..1024).map(|i| (0, 8 * i)),
    )
    .event(3)
}

/// Measures lists of elements far apart and end to start.
pub(crate) fn lists() -> Result<String> {
    let changes = [
        "vm7+list-transfers",
        "vm9+list-transfers",
        "vm7+list-transfers+dma.granule=4B",
        "vm7+list-transfers+dma.granule=4B+dma.beat=4B",
    ];
    let mut rows = Vec::new();
    for (text, element, apart) in [
        ("16 B, apart", 16, 640),
        ("16 B, end to start", 16, 16),
        ("8 B, apart", 8, 640),
        ("4 B, apart", 4, 640),
        ("4 B, end to start", 4, 4),
    ] {
        let mut row = vec![text.to_owned()];
        for machine in changes {
            let machine = Arc::new(Machine::load(machine)?);
            let entries = (0..1024).map(|i| (apart * i, element * (i / 4)));
            let list = ListTransfer::load(ListTarget::Deal, 0, element, entries);
            row.push(match u64::from(element) < machine.dma.granule.0 {
                true => "refused".to_owned(),
                false => {
                    let done = run(&machine, &[list])?;
                    cycles(machine.time_base(), done[0].completes - done[0].data)
                }
            });
        }
        rows.push(row);
    }
    let head = [
        "element",
        "vm7",
        "vm9",
        "vm7, `dma.granule` 4 B",
        "and `dma.beat` 4 B",
    ];
    Ok(table(&head, &rows))
}
