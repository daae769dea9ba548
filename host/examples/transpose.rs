//! Transposes 8 x 8 tiles of a matrix of pairs by the strides of the stores.
//!
//! The plan has a layout of its own, and the kernel does nothing.
//!
//! `cargo run -p cp2-host --example transpose`

use cp2_asm::{Options, Source, assemble};
use cp2_dma::Level;
use cp2_host::{BlockPiece, Buffering, Device, Paging, Stream, StreamPlan};
use cp2_machine::Machine;
use std::error::Error;
use std::sync::Arc;

/// Bytes of an element, the DMA granule.
const ELEMENT: u64 = 16;
/// Bytes of a tile of 8 x 8 elements.
const TILE: u64 = 8 * 8 * ELEMENT;

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Arc::new(Machine::load("vm7")?);
    let mut device = Device::new(machine.clone());
    let tiles = 100;
    let x = device.alloc_from(&(0..tiles * TILE / 4).map(|i| i as u32).collect::<Vec<_>>())?;
    let y = device.alloc::<u32>(x.len())?;

    // A kernel that does nothing: the page is stored as it was loaded.
    let program = assemble(
        &Source::new(
            "nothing.s",
            ".include \"page.s\"\n.program\n    page_begin\n    page_end\n    stop\n",
        ),
        &Options::default(),
    )?
    .program;
    let placed = device.place("nothing", Arc::new(program))?;

    // Row r, column c of the tile goes to row c, column r.
    let row = (8 * ELEMENT) as i64;
    let element = ELEMENT as i64;
    let level = |system_stride, local_stride| Level {
        count: 8,
        system_stride,
        local_stride,
    };
    let store = BlockPiece::new(ELEMENT, vec![level(element, row), level(row, element)]);
    let plan = StreamPlan::new(
        Paging {
            in_place: true,
            reserved: placed.reserved(),
            buffering: Buffering::Double,
            cycles_per_block: Some(0),
            cycles_per_page: 1,
            ..Paging::new(
                tiles,
                vec![Stream::contiguous("tiles", x.address(), TILE)],
                vec![Stream::strided(
                    "transposed",
                    y.address(),
                    TILE,
                    TILE,
                    vec![store],
                )],
            )
        },
        &machine,
    )?;
    println!("{plan}");
    device.page(&plan, &placed, 0, &[])?;
    let run = device.finish()?;

    let (before, after) = (run.read(x)?, run.read(y)?);
    for (i, value) in after.iter().enumerate() {
        let (tile, row, column, word) = (i / 256, i / 32 % 8, i / 4 % 8, i % 4);
        assert_eq!(*value, before[tile * 256 + column * 32 + row * 4 + word]);
    }
    println!(
        "{}: {} cycles, DMA busy {}",
        run.report.end, run.report.cycles, run.report.dma_busy_cycles
    );
    Ok(())
}
