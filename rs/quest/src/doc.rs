//! One Markdown file as facts: titles, sections, list entries, links, each with its line.
//!
//! Called by `tree`. Knows Markdown (by pulldown-cmark: fences, wrapped bullets and reference links fool anything less),
//! knows nothing of quests, and reads no files.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What the rules need to know of one file.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Every level-one heading; a well-formed file has one.
    pub titles: Vec<Heading>,
    /// What stands beneath each level-two heading, in order.
    pub sections: Vec<Section>,
    /// Every link of the file, in sections or not.
    pub links: Vec<Link>,
}

/// A heading, its text as a reader sees it.
#[derive(Debug, Clone, Default)]
pub struct Heading {
    /// The text without markup.
    pub text: String,
    /// Line of the file, from 1.
    pub line: usize,
}

/// What stands beneath one level-two heading.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The heading itself.
    pub heading: Heading,
    /// Entries of its outermost lists.
    pub entries: Vec<Entry>,
    /// The first line with anything but a list.
    pub prose: Option<usize>,
}

/// One entry of an outermost list.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Line of the file, from 1.
    pub line: usize,
    /// The link the entry opens with, if it does.
    pub opening: Option<Link>,
    /// Links further on in the entry.
    pub inner: Vec<Link>,
    /// Something other than a link has been seen: from here on a link is an inner one.
    text_seen: bool,
}

/// A link's target as written.
#[derive(Debug, Clone)]
pub struct Link {
    /// The target: URL, path, or fragment.
    pub target: String,
    /// Line of the file, from 1.
    pub line: usize,
}

impl Document {
    /// Reads `source`. Every input is Markdown, so this can't fail. O(length).
    pub fn parse(source: &str) -> Self {
        let lines = Lines::new(source);
        let mut reader = Reader::default();
        for (event, range) in Parser::new_ext(source, Options::ENABLE_TABLES).into_offset_iter() {
            reader.take(event, lines.at(range.start));
        }
        reader.document
    }

    /// The first section of that name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.heading.text == name)
    }
}

#[derive(Default)]
struct Reader {
    document: Document,
    /// The heading being read, and its level.
    heading: Option<(HeadingLevel, Heading)>,
    /// How many lists the event is inside.
    lists: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                if level > HeadingLevel::H2 {
                    self.note_prose(line);
                }
                self.heading = Some((
                    level,
                    Heading {
                        text: String::new(),
                        line,
                    },
                ));
            }
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::Start(Tag::List(_)) => self.lists += 1,
            Event::End(TagEnd::List(_)) => self.lists -= 1,
            Event::Start(Tag::Item) if self.lists == 1 => {
                if let Some(section) = self.document.sections.last_mut() {
                    section.entries.push(Entry {
                        line,
                        ..Entry::default()
                    });
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => self.link(dest_url.to_string(), line),
            Event::Text(text) | Event::Code(text) => self.text(&text, line),
            Event::Start(_) | Event::Html(_) | Event::InlineHtml(_) => self.note_prose(line),
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        match self.heading.take() {
            Some((HeadingLevel::H1, heading)) => self.document.titles.push(heading),
            Some((HeadingLevel::H2, heading)) => {
                self.document.sections.push(Section {
                    heading,
                    ..Section::default()
                });
            }
            _ => {}
        }
    }

    fn link(&mut self, target: String, line: usize) {
        let link = Link { target, line };
        self.document.links.push(link.clone());
        if let Some(entry) = self.entry() {
            if entry.text_seen || entry.opening.is_some() {
                entry.inner.push(link);
            } else {
                entry.opening = Some(link);
            }
        }
    }

    fn text(&mut self, text: &str, line: usize) {
        if let Some((_, heading)) = &mut self.heading {
            heading.text.push_str(text);
        } else if let Some(entry) = self.entry() {
            entry.text_seen = true;
        } else {
            self.note_prose(line);
        }
    }

    /// The entry the event is inside, if it is in a list of a section.
    fn entry(&mut self) -> Option<&mut Entry> {
        if self.lists == 0 {
            return None;
        }
        self.document.sections.last_mut()?.entries.last_mut()
    }

    /// Remembers where a section stops being a plain list. Deeper headings end nothing and count as prose.
    fn note_prose(&mut self, line: usize) {
        if self.lists == 0
            && let Some(section) = self.document.sections.last_mut()
        {
            section.prose.get_or_insert(line);
        }
    }
}

/// Byte offsets → line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(source: &str) -> Self {
        Self(source.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// O(log lines).
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&newline| newline < offset) + 1
    }
}
