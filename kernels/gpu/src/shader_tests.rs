//! Every shader's text is parsed and judged, without a driver.

use crate::fft::generator::{GroupTask, Numbering, entry_point};
use crate::fft::layout::{GroupLayout, GroupLimits};
use crate::program::Shader;
use crate::{bench, chain, conv, fft, himeno, npb, probe, sparse, stencil, vector};
use cp2_problems::KINDS;
use cp2_problems::stencil::StencilProblem;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::collections::BTreeSet;
use std::path::Path;

/// Shaders that are whole without generated text.
const WHOLE: &[Shader] = &[
    bench::COPY,
    bench::POISON,
    chain::ENDS,
    conv::DIRECT,
    fft::REAL,
    fft::ODD_REAL,
    himeno::ITERATION,
    npb::EVOLVE,
    npb::GATHER,
    npb::PROJECT,
    npb::INTERPOLATE,
    probe::ARITHMETIC,
    stencil::CLASSES,
    sparse::SCALARS,
    sparse::ROWS,
    sparse::SLICED,
    sparse::UPDATE,
    vector::MAP,
    vector::REDUCE,
    vector::MATRIX,
    vector::SMALL_PRODUCTS,
    vector::TRANSPOSE,
];

/// Shaders that text is generated for.
const GENERATED: &[Shader] = &[
    chain::SPECTRA,
    conv::FUSED,
    conv::FILTER_COLUMNS,
    fft::BLUESTEIN_COLUMNS,
    fft::CONVOLVED_ROWS,
    fft::LINES,
    fft::BLUESTEIN,
    stencil::STEP,
];

/// Parses a text and judges it, also with the defaults of its constants in place.
fn check(name: &str, text: &str) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(text)));
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(text)));
    let constants = naga::back::PipelineConstants::default();
    let with = naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants);
    with.unwrap_or_else(|error| panic!("{name}: {error:?}"));
}

#[test]
fn whole_shaders_are_valid() {
    for shader in WHOLE {
        check(shader.name, &shader.text());
    }
}

#[test]
fn transforms_are_valid() {
    let limits = GroupLimits {
        threads: 256,
        floats: 8192,
    };
    for n in [1, 2, 3, 16, 30, 49, 105, 210, 1000, 1024, 4096] {
        for numbering in [Numbering::Lanes, Numbering::Transforms] {
            let layout = GroupLayout::new(n, numbering == Numbering::Transforms, limits).unwrap();
            let numbering = [numbering, Numbering::Transforms];
            let text = entry_point(&layout, GroupTask::Transform, numbering, 100);
            check("fft/lines", &(fft::LINES.text() + &text));
            check(
                "fft/bluestein_columns",
                &(fft::BLUESTEIN_COLUMNS.text() + &text),
            );
            check("conv/columns", &(conv::FILTER_COLUMNS.text() + &text));
            check("chain/spectra", &(chain::SPECTRA.text() + &text));
            let text = entry_point(&layout, GroupTask::Convolve, numbering, 100);
            check("fft/bluestein", &(fft::BLUESTEIN.text() + &text));
            check("fft/convolved_rows", &(fft::CONVOLVED_ROWS.text() + &text));
            check("conv/fused", &(conv::FUSED.text() + &text));
        }
    }
}

#[test]
fn stencils_are_valid() {
    let kind = KINDS.iter().find(|kind| kind.name == "stencil").unwrap();
    for size in kind.small_sizes() {
        let problem = StencilProblem::from_size(&size).unwrap();
        check(
            "stencil/step",
            &(stencil::STEP.text() + &stencil::sum_text(&problem)),
        );
    }
}

/// Every file of WGSL is a part of a shader that these tests look at.
#[test]
fn no_file_is_left_out() {
    fn files(folder: &Path, all: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, all);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "wgsl")
            {
                all.insert(std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeSet::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    let parts = WHOLE
        .iter()
        .chain(GENERATED)
        .flat_map(|shader| shader.parts);
    let known: BTreeSet<_> = parts.map(|&part| part.to_owned()).collect();
    assert_eq!(found, known);
}
