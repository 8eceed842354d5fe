# Writes OUTPUT: a table of the page's files, name and text. Run as a script by nascent_web().
set(text "#include \"nascent/run/web_files.h\"\n\nnamespace nascent::embedded {\n\nconst std::vector<WebFile>& web_files() {\n  static const std::vector<WebFile> all = {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} body)
  string(APPEND text "      {\"${name}\", R\"web_file(${body})web_file\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace nascent::embedded\n")
file(WRITE ${OUTPUT} "${text}")
