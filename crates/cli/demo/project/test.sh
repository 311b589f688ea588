# Every line is a title and the name that it should get.

. ./slug.sh

failed=0

expect() {
    got=$(slug "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: expected $2, got $got"
        failed=1
    fi
}

expect 'Release notes' 'release-notes'
expect 'What is new?' 'what-is-new'
expect '  Hello,   World!  ' 'hello-world'

exit $failed
