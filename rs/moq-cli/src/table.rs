//! Owns how a table is laid out in a terminal: columns as wide as their widest cell, words to the
//! left, numbers to the right. Called by whatever reports; knows nothing of what the cells mean.

use std::fmt;

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under one line of headings.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        Self {
            columns: columns
                .into_iter()
                .map(|(name, align)| (name.to_owned(), align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Cells beyond the headings are dropped, missing ones are left empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<_> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<_> = self.columns.iter().map(|(name, _)| width(name)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(cell));
            }
        }
        widths
    }

    fn line<'a>(
        &self,
        f: &mut fmt::Formatter<'_>,
        widths: &[usize],
        cells: impl Iterator<Item = &'a str>,
    ) -> fmt::Result {
        let mut line = String::new();
        for ((cell, widest), (_, align)) in cells.zip(widths).zip(&self.columns) {
            let space = " ".repeat(widest - width(cell));
            match align {
                Align::Left => line.extend([cell, &space]),
                Align::Right => line.extend([&space, cell]),
            }
            line.push_str("  ");
        }
        writeln!(f, "{}", line.trim_end())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        self.line(
            f,
            &widths,
            self.columns.iter().map(|(name, _)| name.as_str()),
        )?;
        let rules: Vec<_> = widths.iter().map(|widest| "─".repeat(*widest)).collect();
        self.line(f, &widths, rules.iter().map(String::as_str))?;
        for row in &self.rows {
            self.line(f, &widths, row.iter().map(String::as_str))?;
        }
        Ok(())
    }
}

/// Columns of a terminal a text takes. One a character: nothing shown here is wider.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[&[&str]]) -> String {
        let mut table = Table::new([("track", Align::Left), ("frames", Align::Right)]);
        for row in rows {
            table.row(row.iter().map(|cell| (*cell).to_owned()));
        }
        table.to_string()
    }

    #[test]
    fn words_stand_left_and_numbers_right() {
        let text = shown(&[&["0.avc3", "250"], &["1.aac", "12,345"]]);
        assert_eq!(
            text,
            "track   frames\n──────  ──────\n0.avc3     250\n1.aac   12,345\n"
        );
    }

    #[test]
    fn a_cell_wider_than_its_heading_widens_the_column() {
        let text = shown(&[&["a-very-long-track", "123456789"]]);
        assert_eq!(text.lines().next(), Some("track                 frames"));
        assert_eq!(text.lines().nth(2), Some("a-very-long-track  123456789"));
    }

    #[test]
    fn width_counts_characters_not_bytes() {
        let text = shown(&[&["µ", "1"], &["ab", "2"]]);
        let lines: Vec<_> = text
            .lines()
            .skip(2)
            .map(|line| line.chars().count())
            .collect();
        assert_eq!(lines[0], lines[1]);
    }

    #[test]
    fn a_ragged_row_is_squared() {
        let text = shown(&[&["only"], &["x", "1", "extra"]]);
        assert!(!text.contains("extra"));
        assert_eq!(text.lines().nth(2), Some("only"));
    }
}
