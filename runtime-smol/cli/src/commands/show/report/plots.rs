//! Plots over time, as SVG.

use super::series::Series;
use plotters::prelude::*;
use std::time::Duration;

const SIZE: (u32, u32) = (960, 170);
const FIRST: RGBColor = RGBColor(37, 99, 235);
const SECOND: RGBColor = RGBColor(217, 119, 6);
const THIRD: RGBColor = RGBColor(220, 38, 38);

/// A line of a plot: its name, its colour, and its values by seconds.
pub(super) type Line = (&'static str, RGBColor, Vec<(f64, f64)>);

/// The plots of a series that have anything to show, with their titles.
pub(super) fn plots(series: &Series) -> Vec<(&'static str, Vec<Line>)> {
    let line = |name, color, value: fn(&super::series::Interval) -> u32| -> Line {
        (name, color, series.points().map(|(second, it)| (second, f64::from(value(it)))).collect())
    };
    let all = vec![
        (
            "Changes",
            vec![
                line("modified", FIRST, |it| it.modified),
                line("added", SECOND, |it| it.added),
                line("deleted", THIRD, |it| it.deleted),
            ],
        ),
        ("Writes and failures", vec![line("writes", FIRST, |it| it.writes), line("failures", THIRD, |it| it.failures)]),
        ("Reconciles at once", vec![line("running", FIRST, |it| it.running), line("retries", THIRD, |it| it.retries)]),
        ("From a write's answer to its event, in ms", vec![line("longest", FIRST, |it| it.lag)]),
        ("Lists", vec![line("lists", FIRST, |it| it.lists)]),
    ];
    all.into_iter()
        .filter(|(_, lines)| lines.iter().any(|(_, _, points)| points.iter().any(|(_, y)| *y > 0.0)))
        .collect()
}

/// One plot; `None` if it cannot be drawn.
pub(super) fn draw(lines: &[Line], length: Duration) -> Option<String> {
    let mut svg = String::new();
    let points = || lines.iter().flat_map(|(_, _, points)| points);
    let end = points().map(|(x, _)| *x).fold(length.as_secs_f64(), f64::max);
    let top = points().map(|(_, y)| *y).fold(1.0, f64::max);
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(6)
            .x_label_area_size(22)
            .y_label_area_size(48)
            .build_cartesian_2d(0.0..end, 0.0..top * 1.05)
            .ok()?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(8)
            .y_labels(4)
            .x_label_formatter(&|x| seconds(*x))
            .draw()
            .ok()?;
        for (_, color, points) in lines {
            chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2))).ok()?;
        }
        area.present().ok()?;
    }
    Some(svg)
}

fn seconds(seconds: f64) -> String {
    match seconds {
        short if short < 120.0 => format!("{short:.1} s"),
        long => format!("{:.0} min", long / 60.0),
    }
}
