//! Published tables of the papers, as CSV.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostic;

/// The raw table of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    file: String,
    header: Vec<String>,
    /// Line number and cells.
    records: Vec<(usize, Vec<String>)>,
}

/// Numbers of a table, by row and column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// Row key (`QUIC-DC 10`) to column name to number. Empty cells are absent.
    pub rows: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Csv {
    /// Parses a file's text.
    ///
    /// # Errors Returns the problem and its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostic> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let refuse = |e: &csv::Error| {
            let line = e.position().map_or(1, |p| usize::try_from(p.line()).unwrap_or(1));
            Diagnostic::new(file, e.to_string(), "every line needs as many cells as the header").on_line(line)
        };
        let header = reader.headers().map_err(|e| refuse(&e))?.iter().map(str::to_owned).collect();
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| refuse(&e))?;
            let line = record.position().map_or(1, |p| usize::try_from(p.line()).unwrap_or(1));
            records.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(Self { file: file.to_owned(), header, records })
    }

    /// Returns the column names.
    pub fn header(&self) -> impl Iterator<Item = &str> {
        self.header.iter().map(String::as_str)
    }

    /// Returns the cells of a column, empty if the header does not have it.
    pub(crate) fn cells(&self, name: &str) -> Vec<&str> {
        let index = self.header.iter().position(|known| known == name);
        let rows = self.records.iter().map(|(_, cells)| index.and_then(|i| cells.get(i)));
        rows.map(|cell| cell.map_or("", String::as_str)).collect()
    }

    /// Returns the numbers. A row's key joins the cells of the `rows` columns with spaces and skips
    /// empty ones: `QUIC-DC 10`, `Westwood+`. Columns that are not in the header are ignored.
    ///
    /// # Errors Fails for a cell that is not a number, and for two rows with the same key.
    pub fn numbers(&self, rows: &[String], columns: &[String]) -> Result<Published, Diagnostic> {
        let index = |name: &String| self.header.iter().position(|h| h == name);
        let keys: Vec<usize> = rows.iter().filter_map(index).collect();
        let mut all = BTreeMap::new();
        for (line, cells) in &self.records {
            let cell = |i: usize| cells.get(i).map_or("", String::as_str);
            let parts: Vec<&str> = keys.iter().map(|i| cell(*i)).filter(|part| !part.is_empty()).collect();
            let mut numbers = BTreeMap::new();
            for (name, i) in columns.iter().filter_map(|name| Some((name, index(name)?))) {
                if let Some(number) = self.number(*line, name, cell(i))? {
                    numbers.insert(name.clone(), number);
                }
            }
            let key = parts.join(" ");
            if all.insert(key.clone(), numbers).is_some() {
                let right = "add columns to `published.rows` to tell the rows apart";
                return Err(
                    Diagnostic::new(&self.file, format!("duplicate row `{key}`"), right).on_line(*line)
                );
            }
        }
        Ok(Published { rows: all })
    }

    fn number(&self, line: usize, column: &str, cell: &str) -> Result<Option<f64>, Diagnostic> {
        if cell.is_empty() {
            return Ok(None);
        }
        let number = cell.parse().ok().filter(|n: &f64| n.is_finite());
        let refuse = || {
            let wrong = format!("`{cell}` is not a number");
            Diagnostic::new(
                &self.file,
                wrong,
                "write a number, or leave the cell empty if the paper has none",
            )
            .on_line(line)
            .at_key(column)
        };
        number.map(Some).ok_or_else(refuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "cca, threshold, goodput, loss\nQUIC-DC,10,9.16,0.02\nWestwood+,,9.18,\n";

    fn numbers(text: &str) -> Result<Published, Diagnostic> {
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        Csv::parse("t.csv", text)?.numbers(&names(&["cca", "threshold"]), &names(&["goodput", "loss"]))
    }

    #[test]
    fn rows_by_key() {
        let rows = numbers(TABLE).unwrap().rows;
        assert_eq!(rows["QUIC-DC 10"]["loss"], 0.02);
        assert_eq!(rows["Westwood+"]["goodput"], 9.18);
        assert!(!rows["Westwood+"].contains_key("loss"));
    }

    #[test]
    fn says_where() {
        let bad = |from: &str, to: &str| numbers(&TABLE.replace(from, to)).unwrap_err().to_string();
        assert!(bad("9.18", "fast").starts_with("t.csv:3: goodput: `fast` is not a number"));
        assert!(bad("Westwood+,", "QUIC-DC,10").starts_with("t.csv:3: duplicate row `QUIC-DC 10`"));
        assert!(bad(",9.18,", ",9.18").starts_with("t.csv:3: "));
    }
}
