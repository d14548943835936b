{
  description = "The tools of `just check` for Nix users; flake.lock is written by the first `nix develop`";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";
    rust-overlay.url = "github:oxalica/rust-overlay";
    rust-overlay.inputs.nixpkgs.follows = "nixpkgs";
  };

  outputs =
    { nixpkgs, rust-overlay, ... }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
      # One set of packages a system, with the toolchain that rust-toolchain.toml names.
      each =
        give:
        nixpkgs.lib.genAttrs systems (
          system: give (nixpkgs.legacyPackages.${system}.extend rust-overlay.overlays.default)
        );
    in
    {
      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages =
            [ (pkgs.rust-bin.fromRustupToolchainFile ./rust-toolchain.toml) ]
            ++ (with pkgs; [
              actionlint
              cargo-deny
              cargo-fuzz
              cargo-hack
              cargo-llvm-cov
              cargo-nextest
              cargo-shear
              ffmpeg
              just
              nodejs
              python3
              rumdl
              shellcheck
              shfmt
              taplo
              typos
              zizmor
            ])
            ++ pkgs.lib.optionals pkgs.stdenv.hostPlatform.isLinux [ pkgs.valgrind ];
        };
      });
      formatter = each (pkgs: pkgs.nixfmt);
    };
}
