//! Settings that cannot be read stop the program before it does anything.

use std::fs;

use super::pelicans;

#[test]
fn damaged_settings_stop_the_start_and_name_file_or_key() {
    let project = pelicans();
    let file = project.root().join("kenning.toml");
    for (text, named) in [
        ("[server\nport = 1\n", "kenning.toml"),
        ("[server]\nport = \"many\"\n", "server.port"),
        ("[server]\nno_such_key = 1\n", "no_such_key"),
        ("[roles]\nchanges = []\n", "there is no role `changes`"),
        ("[roles]\nchanges = []\n", "guidance, changelog, licence, conduct"),
        ("[roles]\nindex = [\"[\"]\n", "`[` is not a file pattern"),
        ("\u{0}\u{1}\u{2}", "kenning.toml"),
    ] {
        fs::write(&file, text).unwrap();
        project.run(&["serve"]).fails_with(&[named]);
        project.run(&["bases"]).fails_with(&[named]);
    }
    fs::write(&file, b"\xff\xfe\x00").unwrap();
    project.run(&["serve"]).fails_with(&["kenning.toml"]);
    fs::remove_file(&file).unwrap();
    project.run(&["bases"]).success();
}
