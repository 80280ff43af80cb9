/// The program: one binary, one command per folder beside this file.
int main() {
    return 2;
}
