//! Tests that the checked-in DMA manual is the generated one.

#[path = "../../examples/dma_manual/bench.rs"]
mod bench;
#[path = "../../examples/dma_manual/lists.rs"]
mod lists;
#[path = "../../examples/dma_manual/page.rs"]
mod page;

#[test]
fn the_manual_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dma.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        text == page::page().unwrap(),
        "docs/dma.md is stale: cargo run -p cp2-emu --example dma_manual > docs/dma.md"
    );
}
