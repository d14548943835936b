# Evaluates ../flake.nix with stubs for its inputs; true when every system's shell has its toolchain and its packages.
let
  flake = import ../flake.nix;
  lib = {
    genAttrs =
      names: give:
      builtins.listToAttrs (
        map (name: {
          inherit name;
          value = give name;
        }) names
      );
    optionals = wanted: list: if wanted then list else [ ];
  };
  # The names the real package set must have. A name the flake uses and this list lacks is an error with its place.
  names = [
    "actionlint"
    "cargo-deny"
    "cargo-fuzz"
    "cargo-hack"
    "cargo-llvm-cov"
    "cargo-nextest"
    "cargo-shear"
    "ffmpeg"
    "just"
    "nixfmt"
    "nodejs"
    "python3"
    "rumdl"
    "shellcheck"
    "shfmt"
    "taplo"
    "typos"
    "valgrind"
    "zizmor"
  ];
  packages =
    system:
    lib.genAttrs names (name: name)
    // {
      inherit lib;
      mkShell = shell: shell;
      stdenv.hostPlatform.isLinux = builtins.match ".*-linux" system != null;
      rust-bin.fromRustupToolchainFile =
        file: "rust ${(builtins.fromTOML (builtins.readFile file)).toolchain.channel}";
    };
  inputs = {
    nixpkgs = {
      inherit lib;
      legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ] (
        system: packages system // { extend = overlay: packages system; }
      );
    };
    rust-overlay.overlays.default = "overlay";
  };
  outputs = flake.outputs inputs;
in
assert builtins.length (builtins.attrNames outputs.devShells) == 3;
{
  inherit (outputs) formatter;
  shell = lib.genAttrs (builtins.attrNames outputs.devShells) (
    system: outputs.devShells.${system}.default.packages
  );
}
