//! Tests of the expressions of rows.

use super::parse::{Expression, LaneConstant, LaneIndex, Statement, parse, print};
use super::{Primitive, RowForm, flow};
use proptest::prelude::*;

fn lane() -> impl Strategy<Value = LaneIndex> {
    prop_oneof![
        Just(LaneIndex::Own),
        (0u32..6).prop_map(LaneIndex::OwnXor),
        (0u32..6).prop_map(LaneIndex::Fixed),
    ]
}

fn number() -> impl Strategy<Value = LaneConstant> {
    let float = any::<u32>().prop_map(f32::from_bits);
    let float = float.prop_filter("a literal is finite", |value| value.is_finite());
    prop_oneof![
        float.prop_map(LaneConstant::Float),
        (i64::from(i32::MIN)..=i64::from(u32::MAX)).prop_map(LaneConstant::Integer),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "b", "c", "t", "u_1", "d", "e", "i", "fadd", "Mask",
    ])
    .prop_map(str::to_owned)
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        number().prop_map(Expression::Constant),
        name().prop_map(Expression::Name),
        (name(), lane()).prop_map(|(name, lane)| Expression::Indexed(name, lane)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let primitives = prop::sample::select(Primitive::ALL.to_vec());
        (primitives, prop::collection::vec(inner, 1..4))
            .prop_map(|(one, arguments)| Expression::Call(one.name().to_owned(), arguments))
    })
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let one = (name(), prop::option::of(lane()), expression());
    let one = one.prop_map(|(name, lane, value)| Statement { name, lane, value });
    prop::collection::vec(one, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Printed statements are read to the same ones; constants keep their bits.
    #[test]
    fn statements_survive_their_text(all in statements()) {
        let text = print(&all);
        let again = parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e:?}")))?;
        // -0.0 equals 0.0 as a float, and prints otherwise.
        prop_assert_eq!(print(&again), text);
        prop_assert_eq!(again, all);
    }

    /// Blanks between tokens change nothing.
    #[test]
    fn blanks_do_not_matter(all in statements(), blank in prop::sample::select(vec![" ", "\n", "\t  "])) {
        let text = print(&all);
        let wide: String = text
            .chars()
            .map(|c| if "[](),;=^".contains(c) { format!("{blank}{c}{blank}") } else { c.to_string() })
            .collect();
        prop_assert_eq!(parse(&wide), Ok(all));
    }

    /// Any text gives statements or an error at a place within it, and statements give values or a flaw.
    #[test]
    fn no_text_panics(
        text in prop_oneof![
            ".{0,60}",
            "[abdeti0-9\\[\\]\\(\\),;=^.x +-]{0,80}",
            statements().prop_map(|all| print(&all)),
        ],
        cut in any::<prop::sample::Index>(),
        more in "[\\[\\](),;=^a0.]{0,2}",
    ) {
        let at = text.char_indices().map(|(at, _)| at).nth(cut.index(text.chars().count().max(1)));
        let at = at.unwrap_or(0);
        for text in [text.clone(), format!("{}{more}{}", &text[..at], &text[at..]), text[..at].to_owned()] {
            match parse(&text) {
                Ok(all) => {
                    for form in RowForm::ALL {
                        if let Err(flaw) = flow::build(form, &all) {
                            prop_assert!(!flaw.to_string().is_empty() && !flaw.help().is_empty());
                        }
                    }
                }
                Err((at, flaw)) => {
                    prop_assert!(at <= text.len() && text.is_char_boundary(at));
                    prop_assert!(!flaw.to_string().is_empty() && !flaw.help().is_empty());
                }
            }
        }
    }
}

/// Nesting is bounded before the stack is.
#[test]
fn deep_nesting_is_refused() {
    let text = format!("d[i] = {}a[i]{}", "not(".repeat(500), ")".repeat(500));
    let (_, flaw) = parse(&text).err().unwrap_or_else(|| panic!("{text}"));
    assert!(flaw.to_string().contains("more than 32 calls"), "{flaw}");
}

fn counts(form: RowForm, text: &str) -> (u32, u32, (u32, u32)) {
    let all = parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let flow = flow::build(form, &all).unwrap_or_else(|e| panic!("{text}: {e}"));
    (flow.muls(), flow.adds(), flow.chain())
}

/// Counts by hand: of each lane once, and of what several lanes share once.
#[test]
fn units_are_counted_from_the_expression() {
    let madd = "t = fmul(a[i], b[i]); d[i] = fadd(t, c[i])";
    assert_eq!(counts(RowForm::P4, madd), (2, 2, (2, 0)));
    assert_eq!(counts(RowForm::Q4, madd), (4, 4, (2, 0)));
    let complex =
        "t = fmul(a[0], b[i]); u = fmul(a[1], b[i^1]); d[0] = fsub(t, u); d[1] = fadd(t, u)";
    assert_eq!(counts(RowForm::P3, complex), (4, 2, (2, 0)));
    assert_eq!(
        counts(RowForm::P3, "d[i] = fmul(a[0], b[0])"),
        (1, 0, (1, 0))
    );
    // Only lane 0 of the name is used.
    assert_eq!(
        counts(RowForm::Q2, "t = fadd(a[i], 1.0); d[i] = t[0]"),
        (0, 1, (1, 0))
    );
    assert_eq!(
        counts(RowForm::Q2, "d[i] = imul(fabs(a[i]), 3)"),
        (4, 0, (1, 1))
    );
    let bits = "m = flt(a[i], b[i]); d[i] = select(m, a[i], b[i])";
    assert_eq!(counts(RowForm::P3, bits), (0, 2, (1, 1)));
}
