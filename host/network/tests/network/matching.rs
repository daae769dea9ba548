//! Matching as MPI has it, in small cases worked out by hand.

use cp2_machine::{NetworkParameters, Topology};

use crate::cases::{Case, run_case};
use crate::oracle::Outcome;
use crate::program::{Choice, Done, Overheads, Program, Step};

fn run(steps: Vec<Vec<Step>>) -> Outcome {
    let programs = steps.into_iter().enumerate();
    let programs =
        programs.map(|(processor, steps)| Program::new(processor, steps, Overheads::default(), 0));
    run_case(&Case {
        parameters: NetworkParameters {
            topology: Topology::Switch,
            ..NetworkParameters::default()
        },
        programs: programs.collect(),
        least_overhead: 0,
    })
}

fn send(to: usize, tag: u32) -> Step {
    Step::Send { to, tag, bytes: 0 }
}

fn receive(from: Option<usize>, tag: Option<u32>) -> Step {
    Step::Receive {
        from,
        tag,
        bytes: 0,
    }
}

/// One hop into the router and one out of it, and a packet of 20 bytes.
const ONE_WAY: u64 = 200_000 + 16_000;

/// Source and tag of what processor 0 received in its last wait, by request.
fn received(outcome: &Outcome) -> Vec<(u64, usize, u32)> {
    let (_, done) = outcome.traces[0].last().unwrap();
    let take = |one: &Done| (one.request, one.source, one.tag);
    done.iter().map(take).collect()
}

const WAIT: Step = Step::Wait(Choice::All);

#[test]
fn a_message_takes_the_first_receive_and_a_receive_the_first_message() {
    let outcome = run(vec![
        vec![
            receive(None, None),
            receive(Some(1), Some(5)),
            receive(None, Some(7)),
            WAIT,
        ],
        vec![send(0, 5), send(0, 7), send(0, 5), WAIT],
    ]);
    assert_eq!(received(&outcome), [(0, 1, 5), (1, 1, 5), (2, 1, 7)]);
    // One after the other over the sender's link.
    assert_eq!(outcome.ends[0], ONE_WAY + 2 * 16_000);
}

#[test]
fn any_source_takes_the_message_that_arrives_first() {
    let outcome = run(vec![
        vec![receive(None, Some(1)), receive(None, Some(1)), WAIT],
        vec![Step::Compute(50_000), send(0, 1), WAIT],
        vec![send(0, 1), WAIT],
    ]);
    assert_eq!(received(&outcome), [(0, 2, 1), (1, 1, 1)]);
    assert_eq!(outcome.ends[0], 50_000 + ONE_WAY);
}

#[test]
fn heads_that_come_at_once_go_by_number() {
    let outcome = run(vec![
        vec![receive(None, None), receive(None, None), WAIT],
        vec![send(0, 3)],
        vec![send(0, 4)],
    ]);
    assert_eq!(received(&outcome), [(0, 1, 3), (1, 2, 4)]);
    assert_eq!(outcome.ends[0], ONE_WAY + 16_000);
}

#[test]
fn messages_to_oneself_go_through_the_router() {
    let outcome = run(vec![vec![receive(Some(0), None), send(0, 9), WAIT]]);
    assert_eq!(outcome.ends[0], ONE_WAY);
}

#[test]
fn a_test_knows_exactly_what_has_arrived() {
    for (time, complete) in [(ONE_WAY - 1, 0), (ONE_WAY, 1)] {
        let outcome = run(vec![
            vec![
                receive(Some(1), None),
                Step::Compute(time),
                Step::Test(Choice::All),
                WAIT,
            ],
            vec![send(0, 0)],
        ]);
        let (at, done) = &outcome.traces[0][1];
        assert_eq!((*at, done.len()), (time, complete));
        assert_eq!(outcome.ends[0], ONE_WAY.max(time));
    }
}

/// The first one arrives first, but is longer than the eager limit and comes behind the second one.
#[test]
fn long_messages_are_matched_when_their_request_arrives() {
    let long = Step::Send {
        to: 0,
        tag: 1,
        bytes: 5_000,
    };
    let any = Step::Receive {
        from: None,
        tag: None,
        bytes: 5_000,
    };
    let outcome = run(vec![vec![any, any, WAIT], vec![long, send(0, 2), WAIT]]);
    let (_, done) = outcome.traces[0].last().unwrap();
    assert_eq!((done[0].tag, done[1].tag), (1, 2));
    assert!(done[0].at > done[1].at);
}
