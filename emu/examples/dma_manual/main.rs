//! Prints `docs/dma.md`, the manual of the DMA controller, with its benchmarks.
//!
//! `cargo run -p cp2-emu --example dma_manual > docs/dma.md`

mod bench;
mod lists;
mod page;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", page::page()?);
    Ok(())
}
