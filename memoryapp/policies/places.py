"""Where somebody may live or move to beside a city, in small letters. Pure, and far from complete."""

from memoryapp.policies.likeness import listed

# What people move to, capitals and all, without moving house.
NO_PLACES = (
    "linux|ubuntu|debian|fedora|windows|mac|macos|android|ios|python|rust|go|java|typescript|vim|neovim|emacs|vscode|"
    "firefox|chrome|safari|gmail|outlook|slack|notion|aws|azure|gcp|github|gitlab|kubernetes|docker|postgres|postgresql|"
    "obsidian|evernote|logseq|todoist|trello|jira|asana|spotify|netflix|telegram|signal|whatsapp|discord|mastodon|teams|"
    "zoom|proton|icloud|dropbox|figma|zed|pycharm|intellij|cursor|zsh|bash|nix|nixos|arch|svelte|vue|react|django|rails|"
    "kotlin|swift|scala|elixir|haskell|mysql|mongodb|redis|sqlite|excel|chatgpt|claude|gemini|google|apple|microsoft|"
    "amazon|sales|marketing|engineering|team|product|support|finance|legal|hr|it"
)
# Where every noun has a capital.
GERMAN_CONDITIONS = (
    "angst|armut|frieden|furcht|hoffnung|sorge|sorgen|trauer|trennung|scheidung|freiheit|sicherheit|wohlstand|not|"
    "gefahr|untermiete|miete|stille|einsamkeit|quarantäne|deckung|rente|teilzeit|wohngemeinschaft|wgs?|häusern?|"
    "wohnungen|ruhe|harmonie|sünde|reichtum|saus"
)
# Neither contradicts a city in it.
COUNTRIES = listed(
    "germany france spain portugal italy austria switzerland belgium netherlands holland denmark norway sweden finland "
    "iceland ireland poland czechia slovakia hungary romania bulgaria greece turkey ukraine russia serbia croatia "
    "slovenia estonia latvia lithuania uk usa us canada mexico brazil argentina chile colombia peru india china japan "
    "korea taiwan vietnam thailand indonesia malaysia philippines australia egypt morocco nigeria kenya israel iran "
    "pakistan deutschland österreich schweiz frankreich spanien italien alemania francia españa suiza italia brasil "
    "alemanha frança espanha suíça allemagne espagne suisse italie royaume-uni germania spagna svizzera portogallo "
    "германии россии украине франции испании италии 中国 日本 德国 法国 美国 英国 韩国 독일 한국"
) | {"united states", "united kingdom", "great britain", "new zealand", "south africa", "south korea"}
REGIONS = listed(
    "europe asia africa america oceania england scotland wales georgia bavaria bayern tuscany toscana sicily andalusia "
    "catalonia california texas florida ontario quebec brittany provence scandinavia europa afrika amerika asien"
) | {
    "the north",
    "the south",
    "the east",
    "the west",
    "the alps",
    "the countryside",
    "northern ireland",
    "north america",
    "south america",
    "latin america",
}
