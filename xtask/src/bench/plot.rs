//! Lines over two axes, as SVG for the documents.
//!
//! The same plot is the same text, so that a run that measured the same changes no file. It stands
//! on a white card of its own and is readable on a dark page too.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::run::root;

/// What is drawn, and what it is called.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    /// Whether ten times as much is one step; what is not above zero cannot be drawn then.
    pub(crate) log: bool,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) style: Style,
}

/// How a line looks; its colour is that of its place, see [`Plot::svg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// With a mark at every point.
    Solid,
    /// With a mark at every point, and in the colour of the solid line before it.
    Dashed,
    /// Grey and without marks: what the others are held against.
    Dots,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 348.0;

/// Told apart by people who see colours differently (after Okabe and Ito), and dark enough on white.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#b35c94", "#9a7b00", "#3a9bd0", "#333333"];
const GREY: &str = "#8a8a8a";

impl Plot {
    /// Draws into `docs/plots/NAME.svg`, and says how `docs/*.md` show it.
    pub(crate) fn draw(&self, name: &str) -> Result<String> {
        let folder = root().join("docs/plots");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("{name}.svg")), self.svg()))
            .with_context(|| format!("`docs/plots/{name}.svg` cannot be written"))?;
        Ok(format!("![{}](plots/{name}.svg)\n", self.title))
    }

    /// The picture. Solid lines take one colour after the other.
    pub(crate) fn svg(&self) -> String {
        let x = Scale::of(&self.x, self.shown().map(|(x, _)| x), LEFT, RIGHT);
        let y = Scale::of(&self.y, self.shown().map(|(_, y)| y), BOTTOM, TOP);
        let title = escaped(&self.title);
        let middle = f64::midpoint(TOP, BOTTOM);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-labelledby=\"title desc\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
             <title id=\"title\">{title}</title>\n<desc id=\"desc\">{}</desc>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"26\" font-size=\"15\" font-weight=\"600\">{title}</text>\n\
             {}{}\
             <text x=\"{}\" y=\"388\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n\
             {}</svg>\n",
            escaped(&self.told()),
            x.steps_across(),
            y.steps_up(),
            f64::midpoint(LEFT, RIGHT),
            escaped(&self.x.label),
            escaped(&self.y.label),
            self.drawn(&x, &y),
        )
    }

    /// The points that both axes have a place for.
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().flat_map(|line| self.of(line))
    }

    fn of(&self, line: &Line) -> impl Iterator<Item = (f64, f64)> {
        let points = line.points.iter().copied();
        points.filter(|(x, y)| self.x.holds(*x) && self.y.holds(*y))
    }

    /// What somebody hears who does not see the picture.
    fn told(&self) -> String {
        let mut told = format!("{} against {}.", self.y.label, self.x.label);
        for line in &self.lines {
            let mut points = self.of(line);
            if let Some((x, y)) = points.next() {
                let _ = write!(told, " {}: {} at {}", line.name, label(y), label(x));
                if let Some((x, y)) = points.last() {
                    let _ = write!(told, ", {} at {}", label(y), label(x));
                }
                told += ".";
            }
        }
        told
    }

    fn drawn(&self, x: &Scale, y: &Scale) -> String {
        let mut drawn = String::new();
        let mut colours = COLOURS.iter().cycle();
        let mut colour = COLOURS[0];
        for (row, line) in self.lines.iter().enumerate() {
            if line.style == Style::Solid {
                colour = colours.next().unwrap_or(&GREY);
            }
            let points: Vec<_> = self.of(line).map(|(a, b)| (x.place(a), y.place(b))).collect();
            let legend = TOP + 8.0 + 20.0 * row as f64;
            let stroke = line.style.stroke(colour);
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                drawn,
                "<g {stroke}>\n<polyline points=\"{}\"/>\n<path d=\"M556 {legend}h26\"/>\n</g>",
                path.join(" "),
            );
            if line.style != Style::Dots {
                for (x, y) in points.into_iter().chain([(569.0, legend)]) {
                    let _ = writeln!(
                        drawn,
                        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
                    );
                }
            }
            let name = escaped(&line.name);
            let _ = writeln!(drawn, "<text x=\"590\" y=\"{}\">{name}</text>", legend + 4.0);
        }
        drawn
    }
}

impl Axis {
    fn holds(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }
}

impl Style {
    fn stroke(self, colour: &str) -> String {
        let (colour, dashes) = match self {
            Self::Solid => (colour, ""),
            Self::Dashed => (colour, " stroke-dasharray=\"6 4\""),
            Self::Dots => (GREY, " stroke-dasharray=\"1 4\" stroke-linecap=\"round\""),
        };
        format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}")
    }
}

/// Where the values of an axis are on the picture, and which of them are named.
struct Scale {
    log: bool,
    steps: Vec<f64>,
    from: f64,
    to: f64,
}

impl Scale {
    fn of(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let steps = if axis.log { decades(low, high) } else { even(low.min(0.0), high.max(0.0)) };
        Self { log: axis.log, steps, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let on = |value: f64| if self.log { value.log10() } else { value };
        let low = on(self.steps[0]);
        let high = on(self.steps[self.steps.len() - 1]);
        self.from + (self.to - self.from) * (on(value) - low) / (high - low)
    }

    fn steps_across(&self) -> String {
        self.marked(|at, label| {
            format!(
                "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>\
                 <text x=\"{at:.1}\" y=\"366\" text-anchor=\"middle\">{label}</text>\n"
            )
        })
    }

    fn steps_up(&self) -> String {
        self.marked(|at, label| {
            format!(
                "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/>\
                 <text x=\"62\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                at + 4.0
            )
        })
    }

    fn marked(&self, mark: impl Fn(f64, &str) -> String) -> String {
        self.steps.iter().map(|step| mark(self.place(*step), &label(*step))).collect()
    }
}

/// Powers of ten around the values, with 2 and 5 of each where they are few.
#[expect(clippy::cast_possible_truncation, reason = "an exponent is small")]
fn decades(low: f64, high: f64) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let last = (high.log10().ceil() as i32).max(first + 1);
    let fine: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let power = |exponent: i32| format!("1e{exponent}").parse().unwrap_or(1.0);
    let mut steps: Vec<f64> =
        (first..last).flat_map(|at| fine.iter().map(move |fine| fine * power(at))).collect();
    steps.push(power(last));
    steps
}

/// Some five steps of 1, 2 or 5 times a power of ten around the values.
#[expect(clippy::cast_possible_truncation, reason = "there are some five steps")]
fn even(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low { high - low } else { 1.0 };
    let power = 10_f64.powf((span / 5.0).log10().floor());
    let wide = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = wide.into_iter().find(|step| span / step <= 6.0).unwrap_or(10.0 * power);
    let (first, last) = ((low / step).floor() as i64, ((low + span) / step).ceil() as i64);
    (first..=last).map(|at| at as f64 * step).collect()
}

/// A number as it is read at a glance: 0.05, 7.5, 10k, 1M.
fn label(value: f64) -> String {
    let (short, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Two digits that count.
    let places = (0..6).find(|places| short.abs() * 10_f64.powi(*places) >= 10.0 - 1e-9);
    let places = usize::try_from(places.unwrap_or(6)).unwrap_or(6);
    let short = format!("{short:.places$}");
    let short = if short.contains('.') {
        short.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        short
    };
    format!("{short}{unit}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, style: Style, points: &[(f64, f64)]) -> Line {
        Line { name: name.to_owned(), points: points.to_vec(), style }
    }

    fn plot(log: bool, lines: Vec<Line>) -> Plot {
        let axis = |label: &str| Axis { label: label.to_owned(), log };
        Plot { title: "Time & size".to_owned(), x: axis("nodes"), y: axis("ms"), lines }
    }

    /// Every text between tags, in order.
    fn texts(svg: &str) -> Vec<&str> {
        let ends = svg.split("</text>").filter_map(|part| part.split_once("<text "));
        ends.filter_map(|(_, text)| text.split_once('>')).map(|(_, text)| text).collect()
    }

    fn check_label(value: f64, expected: &str) {
        assert_eq!(label(value), expected);
    }

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [
            (0.0, "0"),
            (0.001, "0.001"),
            (0.05, "0.05"),
            (7.5, "7.5"),
            (100.0, "100"),
            (1e3, "1k"),
            (1e4, "10k"),
            (1e5, "100k"),
            (1e6, "1M"),
            (2.5e6, "2.5M"),
            (1e9, "1G"),
        ] {
            check_label(value, expected);
        }
    }

    #[test]
    fn ten_times_as_much_is_one_step_on_a_log_axis() {
        let points = [(1e3, 0.1), (1e4, 1.0), (1e5, 10.0), (1e6, 100.0)];
        let svg = plot(true, vec![line("read", Style::Solid, &points)]).svg();
        assert!(svg.contains("points=\"70.0,348.0 226.7,246.7 383.3,145.3 540.0,44.0\""), "{svg}");
        let expected = ["1k", "10k", "100k", "1M", "0.1", "1", "10", "100", "nodes", "ms", "read"];
        assert_eq!(texts(&svg)[1..], expected);
        assert_eq!(svg.matches("<circle").count(), points.len() + 1, "and one in the legend");
    }

    #[test]
    fn an_even_axis_begins_at_zero() {
        let svg = plot(false, vec![line("read", Style::Solid, &[(1.0, 10.0), (4.0, 40.0)])]).svg();
        assert!(svg.contains("points=\"187.5,272.0 540.0,44.0\""), "{svg}");
        assert_eq!(texts(&svg)[1..6], ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn styles_look_different_and_dashes_keep_the_colour() {
        let points = [(1.0, 1.0), (10.0, 10.0)];
        let lines = vec![
            line("a", Style::Solid, &points),
            line("b", Style::Dashed, &points),
            line("c", Style::Solid, &points),
            line("d", Style::Dots, &points),
        ];
        let svg = plot(true, lines).svg();
        let strokes: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g ")).collect();
        let colour = |row: usize| strokes[row].split('"').nth(3);
        assert_eq!(colour(0), colour(1));
        assert_ne!(colour(0), colour(2));
        assert_eq!(colour(3), Some(GREY));
        let dashed: Vec<bool> = strokes.iter().map(|stroke| stroke.contains("dash")).collect();
        assert_eq!(dashed, [false, true, false, true]);
    }

    #[test]
    fn it_can_be_heard_and_names_are_text() {
        let svg = plot(true, vec![line("<b>", Style::Solid, &[(1e3, 2.0), (1e6, 30.0)])]).svg();
        assert!(svg.contains("<title id=\"title\">Time &amp; size</title>"), "{svg}");
        assert!(svg.contains(">ms against nodes. &lt;b&gt;: 2 at 1k, 30 at 1M.</desc>"), "{svg}");
        assert!(svg.contains("role=\"img\" aria-labelledby=\"title desc\""), "{svg}");
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let points = [(0.0, 1.0), (10.0, f64::NAN), (10.0, 1.0), (100.0, 10.0)];
        let svg = plot(true, vec![line("a", Style::Solid, &points)]).svg();
        assert!(svg.contains("points=\"70.0,348.0 540.0,44.0\""), "{svg}");
        let empty = plot(true, Vec::new()).svg();
        assert!(!empty.contains("NaN") && !empty.contains("inf"), "{empty}");
    }

    #[test]
    fn the_same_plot_is_the_same_text() {
        let drawn = || plot(true, vec![line("a", Style::Solid, &[(1.0, 3.0), (9.0, 7.0)])]).svg();
        assert_eq!(drawn(), drawn());
        assert!(drawn().len() < 4_000, "{} bytes", drawn().len());
    }
}
