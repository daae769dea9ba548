//! Tests of what is said about the places of wrong elements.

use crate::bench::{Bench, bytes, npy};

const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// Makes a folder with the array x of 4096 ones and an expected array: 2, but 3 where `wrong` says so.
fn bench(shape: &str, wrong: impl Fn(usize) -> bool) -> Bench {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    let expected: Vec<f32> = (0..4096)
        .map(|i| if wrong(i) { 3.0 } else { 2.0 })
        .collect();
    bench.write("x.npy", npy("<f4", "False", shape, &bytes(&[1.0; 4096])));
    bench.write("e.npy", npy("<f4", "False", shape, &bytes(&expected)));
    bench
}

/// Pages of 16 blocks of four numbers for each of four sections: 256 numbers a page, 64 of them in a section.
#[test]
fn wrong_elements_are_told_by_section_page_and_block() {
    let cases: [(&dyn Fn(usize) -> bool, &str); 6] = [
        (&|i| i / 64 % 4 == 2, "all elements with section 2"),
        (&|i| i / 256 != 0, "all elements with page other than 0"),
        (
            &|i| i % 4 < 2,
            "all elements with index in its block 0 to 1",
        ),
        (
            &|i| i / 64 % 4 == 2 && i / 256 == 3 && i % 4 == 1,
            "all elements with section 2, page 3, index in its block 1",
        ),
        (
            &|i| i / 4 % 16 == 15,
            "all elements with block of its section 15",
        ),
        (&|i| i == 77, "all elements with index 77"),
    ];
    for (wrong, words) in cases {
        let bench = bench("(4096,)", wrong);
        let run = "map double.s --input x.npy --output y.npy --expect e.npy --block 4 --page 16";
        let text = bench.cp2(run);
        assert_eq!(text.code, 1, "{}", text.err);
        let count = (0..4096).filter(|&i| wrong(i)).count();
        assert!(
            text.out
                .contains(&format!("{count} of 4096 elements are too far"))
                && text.out.contains(&format!("]: {words}; the farthest is")),
            "{words}: {}",
            text.out
        );
        let json = bench.cp2(&format!("{run} --json")).json();
        assert_eq!(json["compared"][0]["wrong_places"], words);
        // Without pages of all blocks there are coordinates alone.
        let shared = bench.cp2(&format!("{run} --procs 2"));
        assert!(
            !shared.out.contains("section") && shared.out.contains("too far"),
            "{}",
            shared.out
        );
    }
}

/// Jobs know the pages of the pass that stores the array, and axes have their names.
#[test]
fn jobs_tell_rows_and_columns() {
    let job = "[arrays.x]\ninput = \"x.npy\"\n[arrays.y]\nshape = [64, 64]\noutput = \"y.npy\"\nexpect = \"e.npy\"\n\
               [[pass]]\nkernel = \"rows.s\"\nblock = [2, 64]\ninputs = [{ array = \"x\" }]\noutputs = [{ array = \"y\" }]\n";
    let rows = DOUBLE.replace(
        "ldx c0, [a15 + 8]\n",
        "ldx c0, [a15 + 8]\n    nop\n    nop\n    nop\n    nop\n    nop\n    shl c0, c0, 5\n",
    );
    let bench = bench("(64, 64)", |i| i / 64 % 2 == 1 && i % 64 >= 60);
    bench.write("job.toml", job);
    bench.write("rows.s", rows);
    let text = bench.cp2("job run job.toml");
    let words = "all elements with row in its block 1, column in its block 60 to 63";
    assert!(
        text.code == 1 && text.out.contains(words),
        "{}{}",
        text.out,
        text.err
    );
    // Nothing wrong, nothing said; everything wrong has nothing in common.
    for (number, said) in [
        (2.0, "as expected"),
        (4.0, "[0:64, 0:64]; the farthest is [0, 0]"),
    ] {
        bench.write(
            "e.npy",
            npy("<f4", "False", "(64, 64)", &bytes(&[number; 4096])),
        );
        let text = bench.cp2("job run job.toml");
        assert!(text.out.contains(said), "{said}: {}", text.out);
    }
}
