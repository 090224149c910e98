//! Settings that cannot be read stop the program before it does anything.

use std::fs;

use crate::support::Place;

#[test]
fn damaged_settings_stop_the_start_and_name_file_and_line() {
    let place = Place::new();
    let file = place.base().join("kenning.toml");
    for (text, said) in [
        ("[server\nport = 1\n", "kenning.toml"),
        ("[server]\nport = \"many\"\n", "server.port"),
        ("[server]\nno_such_key = 1\n", "no_such_key"),
        ("\u{0}\u{1}\u{2}", "kenning.toml"),
    ] {
        fs::write(&file, text).unwrap();
        place.run(&["serve"]).says(&[said]);
        place.run(&["bases"]).says(&[said]);
    }
    fs::write(&file, b"\xff\xfe\x00").unwrap();
    place.run(&["serve"]).says(&["kenning.toml"]);
    fs::remove_file(&file).unwrap();
    place.run(&["bases"]).good();
}
