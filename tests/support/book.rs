//! The pages of the book, README and what stands beside it, and the code blocks in them.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};

/// A file in Markdown.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// A block of code.
pub struct Block {
    /// Where it stands, to be told when it fails.
    pub place: String,
    /// The words behind the fence, as `sh`, `device`.
    pub language: Vec<String>,
    pub text: String,
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.into_iter().find(|folder| folder.join("docs/book.toml").exists()).unwrap().to_owned()
}

/// All files with one of the endings below a folder of the workspace.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_str().unwrap().ends_with(ending) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

pub fn pages() -> Vec<Page> {
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let mut paths: Vec<PathBuf> = beside.iter().map(|name| root().join(name)).collect();
    paths.extend(files("docs/src", ".md"));
    let page = |path: PathBuf| Page { text: fs::read_to_string(&path).unwrap(), path };
    paths.into_iter().map(page).collect()
}

impl Page {
    /// Its place in the workspace.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
    }

    /// The blocks of code, and the lines of everything else.
    pub fn parts(&self) -> (Vec<Block>, Vec<&str>) {
        let (mut blocks, mut prose): (Vec<Block>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut is_code = false;
        for (number, line) in (1..).zip(self.text.lines()) {
            match line.strip_prefix("```") {
                Some(language) if !is_code => {
                    is_code = true;
                    let language = language.split(',').map(str::to_owned).collect();
                    let place = format!("{}:{number}", self.name());
                    blocks.push(Block { place, language, text: String::new() });
                }
                Some(_) => is_code = false,
                None if is_code => {
                    let block = blocks.last_mut().unwrap();
                    block.text += line;
                    block.text.push('\n');
                }
                None => prose.push(line),
            }
        }
        assert!(!is_code, "{}: a block of code has no end", self.name());
        (blocks, prose)
    }

    /// The cells of the tables' rows, without the heads.
    pub fn rows(&self) -> Vec<Vec<&str>> {
        let (_, prose) = self.parts();
        let rows = prose.into_iter().filter_map(|line| {
            let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
            Some(cells.split(" | ").map(str::trim).collect())
        });
        rows.collect()
    }
}

/// All blocks of a language, with exactly these words.
pub fn blocks(language: &[&str]) -> Vec<Block> {
    let blocks = pages().into_iter().flat_map(|page| page.parts().0);
    blocks.filter(|block| block.language == language).collect()
}

/// What stands between back-ticks.
pub fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
