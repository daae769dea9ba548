//! Tests of control flow: blocks, loops, counts, calls, unreachable words.

use super::*;
use crate::{Options, Source, assemble};

fn program(text: &str) -> Program {
    assemble(&Source::new("a.s", text), &Options::default())
        .unwrap()
        .program
}

fn flow(text: &str) -> Flow {
    Flow::of_program(&program(text)).unwrap()
}

/// First word, last word and outgoing edges of a block.
type Shape = (usize, usize, Vec<(Way, usize)>);

fn shape(flow: &Flow) -> Vec<Shape> {
    let blocks = flow.blocks().iter();
    blocks
        .map(|b| (b.words.start, b.words.end - 1, b.next.clone()))
        .collect()
}

#[test]
fn a_straight_line_is_a_block() {
    let flow = flow(".program\nnop\nnop\nstop\n");
    assert_eq!(shape(&flow), [(0, 2, vec![])]);
    assert_eq!(flow.block_of(2), Some(0));
    assert_eq!(flow.block_of(3), None);
}

#[test]
fn a_nest_of_loops_has_depths_counts_and_back_edges() {
    let flow = flow(
        ".program\nldx c0, [a15]\nloop c0 {\nloop 3 {\nnop\nnop\n}\naddi c1, c1, 1\n}\nstop\n",
    );
    let [outer, inner] = flow.loops() else {
        panic!("{flow}")
    };
    assert_eq!(
        (outer.first, outer.last, outer.depth, outer.outer),
        (2, 5, 1, None)
    );
    assert_eq!(
        (inner.first, inner.last, inner.depth, inner.outer),
        (3, 4, 2, Some(0))
    );
    assert_eq!(inner.trips, Trips::Constant(3));
    let set_by = vec![Some(0)];
    let register = Scalar::by_name("c0").unwrap();
    assert_eq!(outer.trips, Trips::Register { register, set_by });
    use Way::{Back, Next, Skip};
    assert_eq!(
        shape(&flow),
        [
            (0, 1, vec![(Next, 2), (Skip, 6)]),
            (2, 2, vec![(Next, 3)]),
            (3, 4, vec![(Next, 5), (Back, 3)]),
            (5, 5, vec![(Next, 6), (Back, 2)]),
            (6, 6, vec![]),
        ]
    );
    assert_eq!(flow.blocks()[2].inside, Some(1));
    assert_eq!(flow.blocks()[3].inside, Some(0));
    assert_eq!(flow.blocks()[4].inside, None);
}

#[test]
fn events_and_targets_end_blocks() {
    let flow =
        flow(".program\nnop\npage: wait 0\nnop\nsignal 1\naddi c1, c1, -1\nbnz c1, page\nstop\n");
    use Way::{Next, Taken};
    assert_eq!(
        shape(&flow),
        [
            (0, 0, vec![(Next, 1)]),
            (1, 1, vec![(Next, 2)]),
            (2, 3, vec![(Next, 4)]),
            (4, 5, vec![(Next, 6), (Taken, 1)]),
            (6, 6, vec![]),
        ]
    );
}

/// A register that a function writes counts as written when the function has returned.
#[test]
fn counts_that_functions_set_are_found() {
    let flow = flow(
        ".program\ncall set\nloop c0 {\nnop\n}\nloop c1 {\nnop\n}\nstop\nset: movi c0, 2\nret\n",
    );
    let [function] = flow.functions() else {
        panic!("{flow}")
    };
    assert_eq!((function.entry, &function.callers[..]), (6, &[0][..]));
    let set = |at: usize| match &flow.loops()[at].trips {
        Trips::Register { set_by, .. } => set_by.clone(),
        Trips::Constant(_) => panic!("{flow}"),
    };
    assert_eq!(set(0), [Some(6)]);
    assert_eq!(set(1), [None]);
}

#[test]
fn what_is_not_reached_is_in_no_block() {
    let flow = flow(".program\njmp on\nnop\nnop\non: stop\n");
    assert_eq!(
        shape(&flow),
        [(0, 0, vec![(Way::Taken, 3)]), (3, 3, vec![])]
    );
    assert_eq!(flow.block_of(1), None);
    let text = flow.to_string();
    assert!(text.starts_with("2 of 4 words in 2 blocks"), "{text}");
    assert!(text.contains("on:\n"), "{text}");
}

#[test]
fn what_has_no_flow_says_why() {
    let words = program(".program\nnop\nstop\n").decode().unwrap();
    assert_eq!(
        Flow::of(&words[..1], &[0]).unwrap_err(),
        FlowError::End { pc: 0 }
    );
    let outside = Flow::of(&words, &[7]).unwrap_err();
    assert_eq!(outside, FlowError::Entry { entry: 7, words: 2 });
}
