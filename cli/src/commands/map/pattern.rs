//! The smallest description of a set of elements by what they have in common.

use std::fmt;
use std::ops::Range;

/// Property of the elements of an array, such as the section that computes them.
pub(crate) struct Feature<'a> {
    /// Name, for messages.
    pub(crate) name: String,
    /// Value of each element by its index.
    pub(crate) of: Box<dyn Fn(usize) -> usize + 'a>,
}

/// Values of a feature, or all others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ValueSet {
    name: String,
    ranges: Vec<Range<usize>>,
    /// True for all values but those of the ranges.
    others: bool,
}

/// Description of a set: the values of some features that its elements have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementPattern {
    sets: Vec<ValueSet>,
    /// Elements of the set.
    elements: usize,
    /// Elements of the whole array with these values.
    alike: usize,
}

/// Most features that are looked at; all of their combinations are tried.
const FEATURES: usize = 13;
/// Most ranges of a feature's values that still say something.
const RANGES: usize = 8;

impl ElementPattern {
    /// Finds the shortest description of the elements of an array for which `wanted` is true.
    ///
    /// All features together describe a set of elements that have only values which some wanted element has. Features
    /// that can be left out without making this set larger are: of all choices the one with the fewest numbers in its
    /// words remains, of several the one with features that come first. A feature whose wanted values are many ranges
    /// is not among them.
    pub(crate) fn new(features: &[Feature<'_>], wanted: &[bool]) -> Self {
        let known = features.iter().map(|feature| {
            let known = KnownValues::new(feature, wanted);
            let set = known.set(&feature.name);
            (feature, known, set)
        });
        let telling = known.filter(|(.., set)| set.ranges.len() <= RANGES);
        let known: Vec<_> = telling.take(FEATURES).collect();
        // Elements by the features, as bits, whose value no wanted element has.
        let mut unlike = vec![0usize; 1 << known.len()];
        for index in 0..wanted.len() {
            let bits = known.iter().enumerate();
            let bits = bits.filter(|(_, (feature, known, _))| !known.wanted[(feature.of)(index)]);
            unlike[bits.fold(0, |all, (bit, _)| all | 1 << bit)] += 1;
        }
        let alike = |chosen: usize| -> usize {
            let all = unlike.iter().enumerate();
            all.filter(|(bits, _)| bits & chosen == 0)
                .map(|(_, n)| n)
                .sum()
        };
        let sets: Vec<ValueSet> = known.into_iter().map(|(.., set)| set).collect();
        let cost = |chosen: usize| -> usize {
            let chosen = sets
                .iter()
                .enumerate()
                .filter(|(bit, _)| chosen >> bit & 1 == 1);
            chosen.map(|(_, set)| set.count_numbers().max(1)).sum()
        };
        let least = alike((1 << sets.len()) - 1);
        let choices = (0..1usize << sets.len()).filter(|&chosen| alike(chosen) == least);
        let chosen = choices
            .min_by_key(|&chosen| (cost(chosen), chosen))
            .unwrap_or(0);
        let sets = sets.into_iter().enumerate();
        Self {
            sets: sets
                .filter(|(bit, _)| chosen >> bit & 1 == 1)
                .map(|(_, set)| set)
                .collect(),
            elements: wanted.iter().filter(|wanted| **wanted).count(),
            alike: least,
        }
    }

    /// True if the elements have nothing in common that others have not.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }
}

/// Values of a feature: those that occur, and those of wanted elements.
struct KnownValues {
    occurring: Vec<bool>,
    wanted: Vec<bool>,
}

impl KnownValues {
    fn new(feature: &Feature<'_>, wanted: &[bool]) -> Self {
        let mut known = Self {
            occurring: Vec::new(),
            wanted: Vec::new(),
        };
        for (index, wanted) in wanted.iter().enumerate() {
            let value = (feature.of)(index);
            if known.occurring.len() <= value {
                known.occurring.resize(value + 1, false);
                known.wanted.resize(value + 1, false);
            }
            known.occurring[value] = true;
            known.wanted[value] |= wanted;
        }
        known
    }

    /// Returns the wanted values, or the other ones where these are fewer numbers. Values that do not occur join
    /// ranges, for no element has them.
    fn set(&self, name: &str) -> ValueSet {
        let ranges = |of_set: bool| {
            let mut ranges: Vec<Range<usize>> = Vec::new();
            let mut open = false;
            let occurring = self
                .occurring
                .iter()
                .enumerate()
                .filter(|(_, occurs)| **occurs);
            for (value, _) in occurring {
                let is_member = self.wanted[value] == of_set;
                match ranges.last_mut().filter(|_| open) {
                    Some(last) if is_member => last.end = value + 1,
                    _ if is_member => ranges.push(value..value + 1),
                    _ => {}
                }
                open = is_member;
            }
            ranges
        };
        let (own, others) = (ranges(true), ranges(false));
        let set = |ranges, others| ValueSet {
            name: name.to_owned(),
            ranges,
            others,
        };
        let (own, others) = (set(own, false), set(others, true));
        match others.count_numbers() < own.count_numbers() {
            true => others,
            false => own,
        }
    }
}

impl ValueSet {
    /// Returns how many numbers its words have.
    fn count_numbers(&self) -> usize {
        self.ranges.iter().map(|range| range.len().min(2)).sum()
    }
}

impl fmt::Display for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.ranges.iter().map(|range| match range.len() {
            1 => range.start.to_string(),
            _ => format!("{} to {}", range.start, range.end - 1),
        });
        let ranges: Vec<_> = ranges.collect();
        let not = if self.others { "other than " } else { "" };
        write!(f, "{} {not}{}", self.name, ranges.join(" and "))
    }
}

impl fmt::Display for ElementPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets: Vec<_> = self.sets.iter().map(ToString::to_string).collect();
        match self.elements == self.alike {
            true => write!(f, "all elements with {}", sets.join(", ")),
            false => write!(
                f,
                "{} of the {} elements with {}",
                self.elements,
                self.alike,
                sets.join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Digits of an index in mixed radices as features, slowest first.
    fn digits(radices: [usize; 4]) -> Vec<Feature<'static>> {
        let names = ["plane", "row", "column", "part"];
        let features = names.into_iter().enumerate().map(|(at, name)| {
            let below: usize = radices[at + 1..].iter().product();
            let of = move |index: usize| index / below % radices[at];
            Feature {
                name: name.to_owned(),
                of: Box::new(of) as Box<dyn Fn(usize) -> usize>,
            }
        });
        features.collect()
    }

    /// Returns the elements that a description matches, by its own words.
    fn matching(pattern: &ElementPattern, features: &[Feature<'_>], elements: usize) -> Vec<bool> {
        let matches = |index: usize| {
            pattern.sets.iter().all(|set| {
                let feature = features.iter().find(|f| f.name == set.name).unwrap();
                let value = (feature.of)(index);
                set.ranges.iter().any(|range| range.contains(&value)) != set.others
            })
        };
        (0..elements).map(matches).collect()
    }

    #[test]
    fn sets_are_described_in_words() {
        let features = digits([4, 5, 6, 1]);
        let text = |wanted: &dyn Fn(usize, usize, usize) -> bool| {
            let wanted: Vec<bool> = (0..120).map(|i| wanted(i / 30, i / 6 % 5, i % 6)).collect();
            ElementPattern::new(&features, &wanted).to_string()
        };
        assert_eq!(
            text(&|p, _, c| c < 2 && p != 1),
            "all elements with plane other than 1, column 0 to 1"
        );
        assert_eq!(
            text(&|_, r, _| r.is_multiple_of(2)),
            "all elements with row other than 1 and 3"
        );
        assert_eq!(
            text(&|p, r, c| (p, r, c) == (3, 2, 1)),
            "all elements with plane 3, row 2, column 1"
        );
        assert_eq!(
            text(&|p, r, _| p == r),
            "24 of the 96 elements with row other than 4"
        );
        let all = ElementPattern::new(&features, &[true; 120]);
        assert!(all.is_empty());
    }

    /// A feature with fewer numbers goes before another that says as much, and then the first of them.
    #[test]
    fn the_shortest_of_several_descriptions_is_taken() {
        let feature = |name: &str, of: fn(usize) -> usize| Feature {
            name: name.to_owned(),
            of: Box::new(of),
        };
        let features = [
            feature("block", |i| i / 4),
            feature("section", |i| i / 4 % 4),
            feature("page", |i| i / 16),
            feature("element", |i| i),
        ];
        let text = |wanted: &dyn Fn(usize) -> bool| {
            let wanted: Vec<bool> = (0..64).map(wanted).collect();
            ElementPattern::new(&features, &wanted).to_string()
        };
        assert_eq!(text(&|i| i / 4 % 4 == 2), "all elements with section 2");
        assert_eq!(text(&|i| i < 16), "all elements with page 0");
        assert_eq!(text(&|i| i == 37), "all elements with element 37");
        assert_eq!(
            text(&|i| i >= 16 && i / 4 % 4 == 1),
            "all elements with section 1, page other than 0"
        );
    }

    proptest! {
        /// A description has all wanted elements; one of a product of sets has no others; and none of its features
        /// can be left out.
        #[test]
        fn descriptions_match(
            radices in prop::array::uniform4(1usize..6),
            allowed in prop::array::uniform4(1u8..32),
            holes in prop::collection::vec(0usize..625, 0..3),
        ) {
            let elements = radices.iter().product();
            let features = digits(radices);
            let in_product = |index: usize| {
                let mut all = features.iter().zip(allowed);
                all.all(|(feature, allowed)| allowed >> (feature.of)(index) & 1 == 1)
            };
            let product: Vec<bool> = (0..elements).map(in_product).collect();
            prop_assume!(product.contains(&true));
            let exact = ElementPattern::new(&features, &product);
            prop_assert_eq!(&matching(&exact, &features, elements), &product);
            let wanted = product.iter().enumerate();
            let wanted: Vec<bool> = wanted.map(|(i, wanted)| *wanted && !holes.contains(&i)).collect();
            prop_assume!(wanted.contains(&true));
            let pattern = ElementPattern::new(&features, &wanted);
            let found = matching(&pattern, &features, elements);
            prop_assert!(wanted.iter().zip(&found).all(|(wanted, found)| *found || !wanted));
            let count = |found: &[bool]| found.iter().filter(|found| **found).count();
            prop_assert_eq!((pattern.elements, pattern.alike), (count(&wanted), count(&found)));
            for without in 0..pattern.sets.len() {
                let mut fewer = pattern.clone();
                fewer.sets.remove(without);
                prop_assert!(count(&matching(&fewer, &features, elements)) > pattern.alike);
            }
        }
    }
}
