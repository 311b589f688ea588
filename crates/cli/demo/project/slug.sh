# Turns a title into a file name: lower case, words joined by dashes, nothing else.

slug() {
    printf '%s' "$1" | tr 'A-Z' 'a-z' | tr -c 'a-z0-9' '-'
}
