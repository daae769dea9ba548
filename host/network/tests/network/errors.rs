//! Programs that are wrong, and what is said about them.

use cp2_machine::{Bytes, NetworkParameters};
use cp2_network::{
    Advance, Communication, NetworkError, Picoseconds, Record, RecordedOperation, Request,
};

use RecordedOperation::{End, Fail, Pause, Receive, Send, Wait};

fn record(at: u64, operation: RecordedOperation) -> Record {
    let at = Picoseconds(at);
    Record { at, operation }
}

fn start(processors: usize) -> Communication {
    let parameters = NetworkParameters::default();
    let mut made = Communication::new(&parameters, processors, Picoseconds(10)).unwrap();
    assert!(matches!(made.advance(), Ok(Advance::Run(woken)) if woken.len() == processors));
    made
}

fn send(destination: usize, bytes: u64) -> RecordedOperation {
    Send {
        destination,
        tag: 3,
        bytes,
    }
}

fn receive(source: usize, bytes: u64) -> RecordedOperation {
    Receive {
        source: Some(source),
        tag: Some(3),
        bytes,
    }
}

fn wait(request: u64) -> RecordedOperation {
    Wait {
        requests: vec![Request(request)],
    }
}

#[test]
fn messages_longer_than_their_receive_name_both_processors() {
    for bytes in [100, 10_000] {
        let mut all = start(2);
        let sent = [record(10, send(1, bytes)), record(10, End)];
        all.apply(0, &sent).unwrap();
        all.apply(1, &[record(10, receive(0, 99)), record(10, wait(0))])
            .unwrap();
        let error = all.advance().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "message 0 from processor 0 to processor 1, tag 3, {bytes} B: longer than its \
                 receive, which takes 99 B"
            )),
            "{error}"
        );
    }
}

#[test]
fn messages_that_nobody_receives_are_named_at_the_end() {
    let mut all = start(2);
    all.apply(0, &[record(10, send(1, 8)), record(10, End)])
        .unwrap();
    all.apply(1, &[record(0, End)]).unwrap();
    assert_eq!(
        all.advance().unwrap_err().to_string(),
        "never received: message 0 from processor 0 to processor 1, tag 3, 8 B: post a receive for each \
         message"
    );
}

#[test]
fn deadlocks_name_processors_and_requests() {
    let mut all = start(3);
    all.apply(0, &[record(10, receive(1, 8)), record(20, wait(0))])
        .unwrap();
    all.apply(1, &[record(10, receive(2, 4)), record(30, wait(0))])
        .unwrap();
    let other = Send {
        destination: 0,
        tag: 9,
        bytes: 5_000,
    };
    all.apply(2, &[record(10, other), record(40, wait(0))])
        .unwrap();
    let Ok(Advance::Deadlock(blocked)) = all.advance() else {
        panic!("no deadlock");
    };
    let shown: Vec<String> = blocked.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "processor 0 waits since 0.02 ns for receive from processor 1, tag 3, 8 B (request 0), and has \
             no receive for message 0 from processor 2 to processor 0, tag 9, 5000 B",
            "processor 1 waits since 0.03 ns for receive from processor 2, tag 3, 4 B (request 0)",
            "processor 2 waits since 0.04 ns for send to processor 0, tag 9, 5000 B (request 0)",
        ]
    );
}

#[test]
fn records_that_cannot_be_are_refused() {
    let refused = |records: &[Record]| start(2).apply(0, records).unwrap_err();
    let unended = [
        vec![],
        vec![record(10, send(1, 0))],
        vec![record(10, End), record(10, End)],
        vec![record(10, Pause), record(10, send(1, 0))],
    ];
    for records in unended {
        assert_eq!(refused(&records), NetworkError::Unended { processor: 0 });
    }
    // Within the least time of a command after a wake; before the record that precedes it.
    for records in [
        vec![record(9, send(1, 0)), record(20, End)],
        vec![record(9, receive(1, 0)), record(20, End)],
        vec![record(30, send(1, 0)), record(29, End)],
    ] {
        let error = refused(&records);
        assert!(matches!(error, NetworkError::Backwards { .. }), "{error}");
    }
    for operation in [send(2, 0), receive(2, 0)] {
        let error = refused(&[record(10, operation), record(20, End)]);
        assert!(
            matches!(error, NetworkError::NoSuchPeer { peer: 2, .. }),
            "{error}"
        );
    }
    let twice = Wait {
        requests: vec![Request(0), Request(0)],
    };
    for records in [
        vec![record(10, wait(0))],
        vec![record(10, send(1, 0)), record(10, wait(1))],
        vec![record(10, send(1, 0)), record(10, twice)],
    ] {
        let error = refused(&records);
        assert!(
            matches!(error, NetworkError::NoSuchRequest { .. }),
            "{error}"
        );
    }
}

#[test]
fn a_completion_is_given_out_once() {
    let mut all = start(1);
    all.apply(0, &[record(10, send(0, 0)), record(10, wait(0))])
        .unwrap();
    assert!(matches!(all.advance(), Ok(Advance::Run(_))));
    let error = all.apply(0, &[record(20, wait(0))]).unwrap_err();
    assert!(matches!(error, NetworkError::NoSuchRequest { .. }));
}

#[test]
fn records_come_once_for_each_wake() {
    let mut all = start(2);
    all.apply(0, &[record(10, Pause)]).unwrap();
    let again = all.apply(0, &[record(10, End)]);
    assert_eq!(again, Err(NetworkError::NotActive { processor: 0 }));
    let nobody = all.apply(2, &[record(10, End)]);
    assert_eq!(nobody, Err(NetworkError::NotActive { processor: 2 }));
    let early = all.advance();
    assert_eq!(early, Err(NetworkError::NotApplied { processor: 1 }));
}

#[test]
fn failures_of_a_window_are_all_told() {
    let mut all = start(3);
    let fail = |text: &str| Fail {
        message: text.to_owned(),
        of_host: false,
    };
    all.apply(2, &[record(7, fail("no memory"))]).unwrap();
    all.apply(1, &[record(5, End)]).unwrap();
    all.apply(0, &[record(2_000, fail("fault"))]).unwrap();
    let error = all.advance().unwrap_err().to_string();
    assert_eq!(
        error,
        "processor 0 at 2 ns: fault; processor 2 at 0.007 ns: no memory"
    );
}

#[test]
fn messages_take_time() {
    let refused = |change: fn(&mut NetworkParameters)| {
        let mut parameters = NetworkParameters::default();
        change(&mut parameters);
        let made = Communication::new(&parameters, 2, Picoseconds::ZERO);
        matches!(made, Err(NetworkError::Parameter { .. }))
    };
    assert!(refused(|p| (p.hop_ps, p.header) = (0, Bytes(0))));
    assert!(refused(|p| p.lanes = 0));
    assert!(refused(|p| p.payload = Bytes(0)));
    assert!(refused(|p| (p.hop_ps, p.header) = (u64::MAX, Bytes(20))));
    assert!(!refused(|p| p.hop_ps = 0));
    assert!(!refused(|p| p.header = Bytes(0)));
}

#[test]
fn time_does_not_wrap() {
    let mut all = start(1);
    let late = u64::MAX - 1;
    all.apply(0, &[record(late, send(0, 0)), record(late, wait(0))])
        .unwrap();
    let error = all.advance();
    assert!(matches!(error, Err(NetworkError::TooLate { .. })));
}
