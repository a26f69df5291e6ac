//! Slurm's lists of names: `node[1-4,007]-ib,login1`.
//!
//! Numbers in brackets are as wide as the first of their range is written, so that `[08-10]` is 08, 09 and 10. Several
//! brackets in a name stand for all combinations.

/// Names of a list at most: those that Slurm takes for a range.
const MAX_LIST: u64 = 64 << 10;
/// Bytes of a name at most.
const MAX_NAME: usize = 255;
/// Digits of a number at most, so that it fits.
const MAX_DIGITS: usize = 18;

/// A list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList<'a> {
    elements: Vec<Element<'a>>,
    len: usize,
}

/// A name, or several that differ in numbers.
type Element<'a> = Vec<Part<'a>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Numbers(Vec<Numbers>),
}

/// Numbers from one to another, with as many digits at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    first: u64,
    last: u64,
    width: usize,
}

/// What is wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostListError {
    /// Nothing where a name is expected.
    #[error("a name in the list is empty")]
    Empty,
    /// A bracket that does not close or was not opened.
    #[error("a bracket in the list is without its other half")]
    Bracket,
    /// Something in brackets that is neither a number nor a range.
    #[error("[{0}] has something that is neither a number nor a range such as 1-4")]
    Numbers(String),
    /// A range that ends before it begins.
    #[error("the range {0} ends before it begins")]
    Backwards(String),
    /// A character that no name has.
    #[error("{0:?} cannot be in a name")]
    Character(char),
    /// A long name.
    #[error("a name in the list has more than {MAX_NAME} bytes")]
    LongName,
    /// Many names.
    #[error("the list stands for more than {MAX_LIST} names")]
    TooMany,
}

impl<'a> HostList<'a> {
    /// Reads a list.
    ///
    /// # Errors
    /// If it cannot be read, or stands for more than 65,536 names or one of more than 255 bytes.
    pub fn parse(text: &'a str) -> Result<Self, HostListError> {
        let (mut elements, mut len, mut rest) = (Vec::new(), 0, text);
        loop {
            let (element, after) = read_element(rest)?;
            len = count(&element).saturating_add(len);
            if len > MAX_LIST {
                return Err(HostListError::TooMany);
            }
            elements.push(element);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => return Ok(HostList { elements, len: len as usize }),
            }
        }
    }

    /// How many names there are, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.elements.iter().flat_map(expand)
    }
}

/// The names up to the next comma outside of brackets, and what is behind them.
fn read_element(text: &str) -> Result<(Element<'_>, &str), HostListError> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.find(['[', ']', ',']).unwrap_or(rest.len());
        let (plain, after) = rest.split_at(end);
        let is_good = |c: &char| c.is_ascii_graphic() && !"{}#=\"\\".contains(*c);
        if let Some(bad) = plain.chars().find(|c| !is_good(c)) {
            return Err(HostListError::Character(bad));
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        // Each part is a byte at least.
        if parts.len() > MAX_NAME {
            return Err(HostListError::LongName);
        }
        match after.strip_prefix('[') {
            Some(inside) => {
                let (numbers, after) = inside.split_once(']').ok_or(HostListError::Bracket)?;
                parts.push(Part::Numbers(read_brackets(numbers)?));
                rest = after;
            }
            None if after.starts_with(']') => return Err(HostListError::Bracket),
            None if parts.is_empty() => return Err(HostListError::Empty),
            None if longest(&parts) > MAX_NAME => return Err(HostListError::LongName),
            None => return Ok((parts, after)),
        }
    }
}

/// What is between brackets.
fn read_brackets(text: &str) -> Result<Vec<Numbers>, HostListError> {
    let ranges = text.split(',');
    match ranges.clone().count() as u64 {
        0..=MAX_LIST => ranges.map(read_numbers).collect(),
        _ => Err(HostListError::TooMany),
    }
}

fn read_numbers(text: &str) -> Result<Numbers, HostListError> {
    // As much as tells which it is.
    let shown = || text.chars().take(2 * MAX_DIGITS).collect();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let digits = Some(digits).filter(|digits| is_number && digits.len() <= MAX_DIGITS);
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| HostListError::Numbers(shown()))
    };
    let numbers = Numbers { first: number(first)?, last: number(last)?, width: first.len() };
    if numbers.last < numbers.first {
        return Err(HostListError::Backwards(shown()));
    }
    Ok(numbers)
}

/// How many names an element stands for, or the highest number if they are more.
fn count(element: &Element<'_>) -> u64 {
    let options = |part: &Part<'_>| match part {
        Part::Text(_) => 1,
        Part::Numbers(numbers) => {
            let each = numbers.iter().map(|numbers| numbers.last - numbers.first + 1);
            each.fold(0, u64::saturating_add)
        }
    };
    element.iter().map(options).fold(1, u64::saturating_mul)
}

/// Bytes of the longest name.
fn longest(element: &Element<'_>) -> usize {
    let digits = |numbers: &Numbers| numbers.last.to_string().len().max(numbers.width);
    let len = |part: &Part<'_>| match part {
        Part::Text(text) => text.len(),
        Part::Numbers(numbers) => numbers.iter().map(digits).max().unwrap_or_default(),
    };
    element.iter().map(len).sum()
}

fn expand(element: &Element<'_>) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in element {
        match part {
            Part::Text(text) => names.iter_mut().for_each(|name| *name += text),
            Part::Numbers(numbers) => {
                let each = |numbers: &Numbers| {
                    let Numbers { first, last, width } = *numbers;
                    (first..=last).map(move |number| format!("{number:0width$}"))
                };
                let texts: Vec<_> = numbers.iter().flat_map(each).collect();
                let with = |name: String| texts.iter().map(move |text| format!("{name}{text}"));
                names = names.into_iter().flat_map(with).collect();
            }
        }
    }
    names
}
